# SPDX-License-Identifier: Apache-2.0
"""Models with state give TVM's numbers: caches, recurrent states, sampling."""
import numpy
import pytest
import relaxrun
import statemodels
from staterun import CACHE, KV, Kept, Story, greedy, shape

CACHE_ARGUMENTS = [shape(4), shape(256), shape(64), shape(16)]


def started(machine, weights, folder, window=0, sizes=CACHE_ARGUMENTS):
    """A story with a cache; the weights are kept, as they are the same in each call."""
    story = Story(folder, machine)
    story.call("create_paged_kv_cache", *sizes, shape(window), keep="cache")
    story.weights = [numpy.asarray(w) for w in weights]
    return story


def forward(story, function, ids, tokens, lengths, tolerance=1e-4):
    """A pass of an engine: begin, embed, the model, end. tokens in a row of all sequences."""
    story.call(KV + "begin_forward", Kept("cache"), shape(*ids), shape(*lengths))
    hidden = story.call("embed", tokens, story.weights, tolerance=tolerance).numpy()
    count, width = hidden.shape
    if function == "batch_decode":
        inputs = [hidden.reshape(count, 1, width)]
    elif function == "batch_prefill":
        inputs = [hidden.reshape(1, count, width),
                  (numpy.cumsum(lengths) - 1).astype("int32")]
    else:
        inputs = [hidden.reshape(1, count, width)]
    logits, _ = story.call(function, *inputs, Kept("cache"), story.weights, tolerance=tolerance)
    story.call(KV + "end_forward", Kept("cache"))
    return logits


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_greedy(mode, minspect, tmp_path):
    """64 tokens at once, then 32 one by one, each the likeliest: the same tokens."""
    rng = numpy.random.default_rng(1)
    module, weights = statemodels.decoder(rng)
    library = tmp_path / "model.so"
    story = started(relaxrun.build(module, library, mode), weights, tmp_path)
    story.call(KV + "add_sequence", Kept("cache"), 7)
    prompt = rng.integers(0, statemodels.VOCABULARY, 64).astype("int32")
    logits = forward(story, "prefill", [7], prompt, [64])
    for _ in range(32):
        token = numpy.array([greedy(logits)], "int32")
        logits = forward(story, "decode", [7], token, [1])
    story.compare(minspect, library)
