/* SPDX-License-Identifier: Apache-2.0 */
/* auxv.h - what elf.h includes of glibc; nothing of it is used */
