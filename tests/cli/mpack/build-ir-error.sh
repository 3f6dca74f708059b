# LLVM's message has the place in the user's file.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.ll >mpack.toml
printf 'define i32 @f() {\n  ret i32 %%nope\n}\n' >host.ll
mpack build -o deploy.so
