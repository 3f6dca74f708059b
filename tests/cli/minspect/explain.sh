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
# every status of the drivers' headers, by name and number, however it is written; below zero behind --
minspect --explain 717 cudaErrorCallRequiresNewerDriver 0x78000004 | grep -v '^ '
minspect --explain 'The provided PTX was compiled with an unsupported toolchain.' 'the provided ptx was compiled with an unsupported toolchain' | grep -v '^ '
minspect --explain -- -1142 | head -n 3
minspect --explain -30 2>&1 | head -n 1
