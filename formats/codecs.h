/* codecs.h - the payload codecs as the table of kinds names them */
#ifndef MPK_FORMATS_CODECS_H
#define MPK_FORMATS_CODECS_H

#include "payload.h"

extern const struct mpk_codec mpk_codec_empty;
extern const struct mpk_codec mpk_codec_kernels;
extern const struct mpk_codec mpk_codec_record;
extern const struct mpk_codec mpk_codec_graph; /* factory with a graph */
extern const struct mpk_codec mpk_codec_aot;   /* factory without */
extern const struct mpk_codec mpk_codec_consts;
extern const struct mpk_codec mpk_codec_ethosn;
extern const struct mpk_codec mpk_codec_relax;
extern const struct mpk_codec mpk_codec_relay;

#endif
