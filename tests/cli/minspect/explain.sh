# what the word behind a finding means; by its id, several at once, by an exit status
minspect --explain blob-digest
echo --
minspect --explain=unreached 5
echo --
# without a word all are listed, one a line
test "$(minspect --explain | wc -l)" -gt 90
minspect --explain | awk '$1 == "kind"'
minspect --explain --json cycle | jq -r '.messages[] | .id, .printed_by[], .status, .name'
# errors of drivers, by the words that users have in hand
minspect --explain 'RuntimeError: CUDA error: no kernel image is available for execution on the device'
minspect --explain hipErrorSharedObjectInitFailed CL_INVALID_BINARY=-42 | grep -v '^ '
minspect --explain --json 222 | jq -c '.messages[] | [.id, .printed_by, .names[1]]'
