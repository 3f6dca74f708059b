/* SPDX-License-Identifier: Apache-2.0 */
/* auxv.h - a glibc header that elf.h includes; none of it is used */
