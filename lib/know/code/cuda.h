/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - which images a CUDA device runs, and with which driver
 *
 * The rules of the CUDA Programming Guide as a function of an image and a device; no driver is
 * asked. "Binary Compatibility": code for X.y runs on X.z with z >= y, but neither from nor to
 * Tegra. "Feature Availability": code for sm_90a runs on 9.0 alone, code for sm_100f on its family.
 * "PTX Compatibility": PTX runs on every later device, unless it is for one architecture or family.
 */
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

/* What counts as code for a device. */
enum mpk_cuda_wants {
	MPK_CUDA_ANY,   /* what a driver takes */
	MPK_CUDA_OWN,   /* machine code of its own architecture */
	MPK_CUDA_AHEAD, /* PTX that this device and all later ones compile */
};

/* A machine with a CUDA device. */
struct mpk_cuda_place {
	enum mpk_cuda_wants wants;
	unsigned sm;                    /* 86 for a device of compute capability 8.6; 0: unknown */
	struct mpk_cuda_version driver; /* the CUDA version of its driver; may be unknown */
};

enum mpk_cuda_fit {
	MPK_CUDA_RUNS,        /* as machine code */
	MPK_CUDA_COMPILES,    /* PTX or Tile IR, which the driver compiles */
	MPK_CUDA_OTHER_MAJOR, /* code for another generation, or for a later device of this one */
	MPK_CUDA_TEGRA,       /* one is Tegra's, the other is not */
	MPK_CUDA_ARCH_ONLY,   /* sm_90a on another device */
	MPK_CUDA_FAMILY_ONLY, /* sm_100f outside of its family */
	MPK_CUDA_LATER,       /* PTX for later devices */
	MPK_CUDA_NO_TILE,     /* Tile IR, and the device has no support of it */
	MPK_CUDA_PTX_VERSION, /* PTX or Tile IR that is too new for the driver */
	MPK_CUDA_TOOLKIT,     /* a cubin of a later major release than the driver's */
	MPK_CUDA_PACKED,      /* packed with zstd, which the driver cannot unpack */
	MPK_CUDA_UNLINKED,    /* a relocatable cubin */
	MPK_CUDA_LTO,         /* LTO IR, which is linked, not run */
	MPK_CUDA_JIT,         /* PTX, where machine code is required */
	MPK_CUDA_OTHERS,      /* machine code of another architecture that runs there, too */
	MPK_CUDA_NOT_AHEAD,   /* machine code, or PTX for one architecture or family: not for later
			     * devices */
	MPK_CUDA_UNKNOWN,     /* an image of a kind that no known driver runs */
};

/* mpk_cuda_fit - what becomes of one image there; what is not known of the place passes */
enum mpk_cuda_fit mpk_cuda_fit(const struct mpk_code_target *image,
			       const struct mpk_cuda_place *place);

/* mpk_cuda_target_name - "sm_90a", "compute_80", "lto_90", "tile_100", "other_100": what an image is for, in the one form that every action
 * prints and takes
 * @suffix  'a' or 'f', or NUL
 * @out     receives it, cut to size bytes */
void mpk_cuda_target_name(enum mpk_code_target_kind kind, unsigned sm, char suffix, char *out,
			  size_t size);

/* mpk_cuda_suffix - of a cubin: 'a', 'f' or NUL
 * mpk_cuda_entry_kind - what an image of a fatbin is */
struct mpk_cubin;
char mpk_cuda_suffix(const struct mpk_cubin *cubin);
enum mpk_code_target_kind mpk_cuda_entry_kind(const struct mpk_fatbin_entry *e);

/* mpk_cuda_entry_format - how an image of a fatbin is read; NULL: it has no reader */
const struct mpk_code_format *mpk_cuda_entry_format(const struct mpk_fatbin_entry *e);

/* mpk_cuda_toolkit_of - the major release of CUDA that a cubin says made it; 0: none
 * mpk_cuda_asks_toolkit - whether that alone tells which driver an image needs, and it is not known */
unsigned mpk_cuda_toolkit_of(const struct mpk_cubin *cubin);
bool mpk_cuda_asks_toolkit(const struct mpk_code_target *image);

/* mpk_cuda_choose - the image that a driver takes: machine code for the nearest architecture below
 * the device's, else the newest PTX
 * Returns  an index; count when none runs */
size_t mpk_cuda_choose(const struct mpk_code_target *images, size_t count,
		       const struct mpk_cuda_place *place);

/* mpk_cuda_device_parse - "sm_86", "sm_90a", "8.6" as compute capability
 * Returns  86, also for one that is soon behind the newest that is known; 0: there is no such device */
unsigned mpk_cuda_device_parse(const char *text);

/* mpk_cuda_device_near - the devices next to a number that is none: the one below and the one above
 * Returns  how many there are in out, 1 or 2 */
size_t mpk_cuda_device_near(const char *text, unsigned out[2]);

/* mpk_cuda_driver_parse - "12.4", "13", or a driver's own version "550.54.14"
 * Returns  whether it is one that is known, or newer than all of these */
bool mpk_cuda_driver_parse(const char *text, struct mpk_cuda_version *out);

/* --- devices and drivers ---------------------------------------------------------------- */

struct mpk_cuda_gpu {
	unsigned sm;
	bool tegra;                    /* Jetson, DRIVE */
	struct mpk_cuda_version since; /* the first CUDA release that knows it */
};

struct mpk_cuda_driver {
	struct mpk_cuda_version cuda, ptx; /* the newest PTX ISA that it accepts */
	unsigned branch;                   /* branch of the Linux driver; 0: unknown */
};

extern const struct mpk_cuda_gpu mpk_cuda_devices[];    /* ascending; ended by sm 0 */
extern const struct mpk_cuda_driver mpk_cuda_drivers[]; /* ascending; ended by 0.0 */

/* mpk_cuda_compare - as memcmp */
int mpk_cuda_compare(struct mpk_cuda_version a, struct mpk_cuda_version b);

/* --- the images of CUDA code and the architectures that they are for
 *
 * Of PTX, cubins and fatbins alone, from their headers. Who takes code of any format asks target.h, which knows the
 * table of all. */

/* mpk_cuda_images - the images of a run of CUDA code
 * @out     in file order; in arena
 * @count   0: it is neither PTX nor a cubin nor a fatbin
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_UNSUPPORTED: the headers do not read;
 *          MPK_E_NOMEM
 * It is the `targets` of the three rows, too (format.h). */
enum mpk_code mpk_cuda_images(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_code_target **out, size_t *count,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
