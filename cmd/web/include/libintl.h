/* SPDX-License-Identifier: Apache-2.0 */
/* libintl.h - messages of libelf are not translated */
#ifndef MPK_WEB_LIBINTL_H
#define MPK_WEB_LIBINTL_H

#define gettext(text) (text)
#define dgettext(domain, text) (text)
#define bindtextdomain(domain, path) ((void)0)

#endif
