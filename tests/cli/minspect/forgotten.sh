# a forgotten FILE, a word that is misspelt, a command of the other program
look() { minspect "$@" 2>&1 || echo "status $?"; }
look --run vadd
look --cases f.toml
look --extract dir
look --diff a.so
look --verify
look functoins data/formats/01_opencl_scale.so
look Run data/formats/01_opencl_scale.so
look build data/launch/opencl.toml
# a file of that name is a file
cp data/formats/04_metal.blob size
minspect size | sed 1q
# what is no action is a file that is missing
look deploy
# what other programs call an action
look compare a.so b.so
look digest a.so
look ls a.so
look frobnicate a.so
