/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - which images a CUDA device runs, and with which driver
 *
 * Applies the rules of the CUDA Programming Guide to an image and a device; no driver is asked.
 * "Binary Compatibility": code for X.y runs on X.z with z >= y, but code for Tegra runs only on
 * Tegra. "Feature Availability": code for sm_90a runs on 9.0 only, code for sm_100f on its family.
 * "PTX Compatibility": PTX runs on every later device, unless it is for one architecture or family. */
#ifndef MPK_CODE_CUDA_H
#define MPK_CODE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "code/format.h"

struct mpk_fatbin_entry; /* fatbin/fatbin.h */

struct mpk_cuda_version {
	unsigned major, minor; /* 12.4; 0.0: not known */
};

/* Which code counts as code for a device. */
enum mpk_cuda_wants {
	MPK_CUDA_ANY,   /* everything that a driver accepts */
	MPK_CUDA_OWN,   /* only machine code for the device's own architecture */
	MPK_CUDA_AHEAD, /* only PTX that this device and all later ones compile */
};

/* A machine with a CUDA device. */
struct mpk_cuda_place {
	enum mpk_cuda_wants wants;
	unsigned sm; /* 86 for a device of compute capability 8.6; 0: not known */
	struct mpk_cuda_version driver; /* CUDA version of its driver; may be unknown */
};

enum mpk_cuda_fit {
	MPK_CUDA_RUNS,        /* machine code that runs */
	MPK_CUDA_COMPILES,    /* PTX or Tile IR that the driver compiles */
	MPK_CUDA_OTHER_MAJOR, /* code for another generation, or for a later device of this one */
	MPK_CUDA_TEGRA,       /* code for Tegra and another device, or the reverse */
	MPK_CUDA_ARCH_ONLY,   /* sm_90a and another device */
	MPK_CUDA_FAMILY_ONLY, /* sm_100f and a device outside of its family */
	MPK_CUDA_LATER,       /* PTX for later devices */
	MPK_CUDA_NO_TILE,     /* Tile IR and a device without support for it */
	MPK_CUDA_PTX_VERSION, /* PTX or Tile IR that is too new for the driver */
	MPK_CUDA_TOOLKIT,     /* a cubin of a later major release than the driver's */
	MPK_CUDA_PACKED,      /* compressed with zstd, which the driver does not support */
	MPK_CUDA_UNLINKED,    /* a relocatable cubin */
	MPK_CUDA_LTO,         /* LTO IR, which is linked and not run */
	MPK_CUDA_JIT,         /* PTX, but machine code is required */
	MPK_CUDA_OTHERS,      /* machine code that runs, but is for another architecture */
	MPK_CUDA_NOT_AHEAD,   /* machine code, or PTX for one architecture or family, which later
			       * devices do not run */
	MPK_CUDA_UNKNOWN,     /* an image of a kind that no known driver runs */
};

/* mpk_cuda_fit - whether an image runs in a place, and if not why; unknown facts about the place
 * exclude nothing */
enum mpk_cuda_fit mpk_cuda_fit(const struct mpk_code_target *image,
			       const struct mpk_cuda_place *place);

/* mpk_cuda_target_name - the name of an image's target, in the form that every action prints and
 * accepts: "sm_90a", "compute_80", "lto_90", "tile_100", "other_100"
 * @suffix  'a' or 'f', or NUL
 * @out     receives the name, cut to size bytes */
void mpk_cuda_target_name(enum mpk_code_target_kind kind, unsigned sm, char suffix, char *out,
			  size_t size);

/* mpk_cuda_suffix - the suffix of a cubin's target: 'a', 'f' or NUL
 * mpk_cuda_entry_kind - the kind of an image in a fatbin */
struct mpk_cubin;
char mpk_cuda_suffix(const struct mpk_cubin *cubin);
enum mpk_code_target_kind mpk_cuda_entry_kind(const struct mpk_fatbin_entry *e);

/* mpk_cuda_entry_format - the format of an image in a fatbin; NULL: it cannot be read */
const struct mpk_code_format *mpk_cuda_entry_format(const struct mpk_fatbin_entry *e);

/* mpk_cuda_toolkit_of - the major release of CUDA that made a cubin, according to its note; 0: it
 * has none
 * mpk_cuda_asks_toolkit - whether the driver that an image needs depends on this release only, and
 * it is not known */
unsigned mpk_cuda_toolkit_of(const struct mpk_cubin *cubin);
bool mpk_cuda_asks_toolkit(const struct mpk_code_target *image);

/* mpk_cuda_choose - the image that a driver chooses: machine code for the nearest architecture at
 * or below the device's, else the newest PTX
 * Returns  an index; count if none runs */
size_t mpk_cuda_choose(const struct mpk_code_target *images, size_t count,
		       const struct mpk_cuda_place *place);

/* mpk_cuda_device_parse - parse "sm_86", "sm_90a", "8.6"
 * Returns  86; also a number shortly after the newest known device; 0: there is no such device */
unsigned mpk_cuda_device_parse(const char *text);

/* mpk_cuda_device_near - the known devices below and above a number that is not a device
 * Returns  the number of devices in out, 1 or 2 */
size_t mpk_cuda_device_near(const char *text, unsigned out[2]);

/* mpk_cuda_driver_parse - parse "12.4", "13", or a driver's own version "550.54.14"
 * Returns  whether the version is known, or newer than all known ones */
bool mpk_cuda_driver_parse(const char *text, struct mpk_cuda_version *out);

/* --- devices and drivers ---------------------------------------------------------------- */

struct mpk_cuda_gpu {
	unsigned sm;
	bool tegra;                    /* Jetson, DRIVE */
	struct mpk_cuda_version since; /* the first CUDA release that supports it */
};

struct mpk_cuda_driver {
	struct mpk_cuda_version cuda, ptx; /* the release, and the newest PTX ISA that its driver
					    * accepts */
	unsigned branch;                   /* branch of the Linux driver; 0: unknown */
};

extern const struct mpk_cuda_gpu mpk_cuda_devices[];    /* ascending; ended by sm 0 */
extern const struct mpk_cuda_driver mpk_cuda_drivers[]; /* ascending; ended by 0.0 */

/* mpk_cuda_compare - compare two versions; the sign of the result is as in memcmp */
int mpk_cuda_compare(struct mpk_cuda_version a, struct mpk_cuda_version b);

/* --- the images in CUDA code, and their architectures
 *
 * Only for PTX, cubins and fatbins, from their headers. For code in any format call
 * mpk_code_targets (format.h), which knows all formats. */

/* mpk_cuda_images - list the images in CUDA code
 * @out     in file order; in arena
 * @count   0: the code is neither PTX nor a cubin nor a fatbin
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_UNSUPPORTED: the headers do not read;
 *          MPK_E_NOMEM
 * It is also the `targets` function of these three formats (format.h). */
enum mpk_code mpk_cuda_images(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_code_target **out, size_t *count,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
