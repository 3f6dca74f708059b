/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the order in which people list names */
#include "text/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Bytes are compared as they are, whatever the locale is, so that output has one order everywhere. Names that differ
 * in zeros alone ("k2", "k02") are compared by strcmp in the end, so that no two names are equal in the order. */

static size_t count_digits(const char *text)
{
	size_t n = 0;

	while (mpk_is_digit(text[n]))
		n++;
	return n;
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

/* Digits on both sides are compared as numbers, everything else byte by byte. */
int mpk_natural_compare(const char *a, const char *b)
{
	const char *x = a, *y = b;

	while (*x && *y) {
		int order;

		if (mpk_is_digit(*x) && mpk_is_digit(*y)) {
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
