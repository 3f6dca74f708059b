# Called code finds the terminal by its name: it can neither type into it, hang it up, take it, nor stop what is
# written to it, so the message of a call that is late arrives.
minspect --version | grep -q '^sandbox.*seccomp' || { echo "no seccomp here"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cc -w -shared -fPIC -o reach.so "$ROOT/tests/modules/reach.c"
cat >typist.py <<'END'
import os, pty, select, sys, time

pid, fd = pty.fork()
if pid == 0:
    os.execvp("minspect", ["minspect", "--run", "terminal", "--timeout", "0.5", "reach.so", "--input",
                           "str=" + os.ttyname(0)])
text, end = b"", time.time() + 20
while time.time() < end and select.select([fd], [], [], end - time.time())[0]:
    try:
        piece = os.read(fd, 4096)
    except OSError:
        break
    if not piece:
        break
    text += piece
done, status = 0, 0
while not done and time.time() < end:
    done, status = os.waitpid(pid, os.WNOHANG)
    time.sleep(0.01)
if not done:
    os.kill(pid, 9)
    print("it did not end")
print(os.waitstatus_to_exitcode(status), text.decode().replace("\r", ""), end="")
END
python3 typist.py
