/* SPDX-License-Identifier: Apache-2.0 */
#include "text/natural.h"

#include <stddef.h>
#include <string.h>

static size_t count_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* Of two numbers, both without leading zeros: the longer one is larger. */
static int compare_numbers(const char **a, const char **b)
{
	*a += strspn(*a, "0");
	*b += strspn(*b, "0");

	size_t n = count_digits(*a), m = count_digits(*b);
	int order = n != m ? (n < m ? -1 : 1) : strncmp(*a, *b, n);

	*a += n;
	*b += m;
	return order;
}

int mpk_natural_compare(const char *a, const char *b)
{
	const char *x = a, *y = b;

	while (*x && *y) {
		int order;

		if (count_digits(x) && count_digits(y)) {
			order = compare_numbers(&x, &y);
		} else {
			order = (unsigned char)*x - (unsigned char)*y;
			x++;
			y++;
		}
		if (order)
			return order;
	}
	if (*x || *y)
		return *x ? 1 : -1;
	return strcmp(a, b);
}
