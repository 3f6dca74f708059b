// SPDX-License-Identifier: Apache-2.0
// wasi.js - runs minspect once, in a worker: the system calls that it makes (WASI preview 1)
//
// The page posts {module, args, files}: a compiled WebAssembly.Module, the words of the command line, and
// [{path, file}] with the File that each path names. The worker answers with {read: bytes} while it reads, and
// at last with {status, output: Blob, errors: text}. A program can open the files it was given and nothing else.
// Numbers of calls, errors and layouts are those of WASI's witx files, snapshot 01.

const PIECE = 8 << 20; // bytes of a file that are read at a time
const OK = 0, BADF = 8, INVAL = 28, NOENT = 44, NOSYS = 52, NOTDIR = 54, SPIPE = 70;
const UNKNOWN = 0, DIRECTORY = 3, REGULAR_FILE = 4;
const ROOT = 3; // the folder that is open from the start

class Exit extends Error {
  constructor(status) {
    super(`exit ${status}`);
    this.status = status;
  }
}

// A tree of folders (Map) and files (File), from paths with slashes.
function tree(files) {
  const root = new Map();
  for (const { path, file } of files) {
    const names = path.split("/").filter(name => name && name !== "." && name !== "..");
    let folder = root;
    for (const name of names.slice(0, -1)) {
      if (!(folder.get(name) instanceof Map))
        folder.set(name, new Map());
      folder = folder.get(name);
    }
    folder.set(names.at(-1), file);
  }
  return root;
}

function find(folder, path) {
  let node = folder;
  for (const name of path.split("/")) {
    if (!name || name === ".")
      continue;
    if (!(node instanceof Map))
      return undefined;
    node = node.get(name);
  }
  return node;
}

function system(files, args, tell) {
  const encoder = new TextEncoder(), decoder = new TextDecoder(), reader = new FileReaderSync();
  const root = tree(files), inodes = new Map();
  const open = [{}, {}, {}, { node: root, name: "/" }];
  const output = [];
  let errors = "", memory, read = 0;

  const words = args.map(word => encoder.encode(word + "\0"));
  const environment = [encoder.encode("LC_ALL=C.UTF-8\0")];
  const view = () => new DataView(memory.buffer);
  const bytes = (at, len) => new Uint8Array(memory.buffer, at >>> 0, len >>> 0);
  const text = (at, len) => decoder.decode(bytes(at, len));
  const inode = node => inodes.get(node) ?? (inodes.set(node, inodes.size + 1), inodes.size);

  function sizes(list, countAt, lengthAt) {
    view().setUint32(countAt, list.length, true);
    view().setUint32(lengthAt, list.reduce((sum, word) => sum + word.length, 0), true);
    return OK;
  }

  function put(list, table, at) {
    for (const word of list) {
      view().setUint32(table, at, true);
      bytes(at, word.length).set(word);
      table += 4;
      at += word.length;
    }
    return OK;
  }

  // The buffers of a gathering or scattering call: [address, length] pairs.
  function* vectors(at, count) {
    for (let i = 0; i < count; i++)
      yield [view().getUint32(at + 8 * i, true), view().getUint32(at + 8 * i + 4, true)];
  }

  // From an offset of a file into memory; how many bytes there were.
  function fill(file, from, at, len) {
    let done = 0;
    const most = Math.max(0, Math.min(len, file.size - from));
    while (done < most) {
      const piece = Math.min(PIECE, most - done);
      bytes(at + done, piece).set(new Uint8Array(reader.readAsArrayBuffer(file.slice(from + done, from + done + piece))));
      done += piece;
      read += piece;
      tell(read);
    }
    return done;
  }

  function scatter(fd, vectorsAt, count, from, doneAt) {
    let done = 0;
    for (const [at, len] of vectors(vectorsAt, count)) {
      const got = fill(open[fd].node, from + done, at, len);
      done += got;
      if (got < len)
        break;
    }
    view().setUint32(doneAt, done, true);
    return done;
  }

  function stat(node, at) {
    const v = view(), isFolder = node instanceof Map;
    const time = BigInt(isFolder ? 0 : node.lastModified) * 1000000n;
    bytes(at, 64).fill(0);
    v.setBigUint64(at, 1n, true);
    v.setBigUint64(at + 8, BigInt(inode(node)), true);
    v.setUint8(at + 16, isFolder ? DIRECTORY : REGULAR_FILE);
    v.setBigUint64(at + 24, 1n, true);
    v.setBigUint64(at + 32, BigInt(isFolder ? 0 : node.size), true);
    for (const off of [40, 48, 56])
      v.setBigUint64(at + off, time, true);
    return OK;
  }

  const calls = {
    args_sizes_get: (countAt, lengthAt) => sizes(words, countAt, lengthAt),
    args_get: (table, at) => put(words, table, at),
    environ_sizes_get: (countAt, lengthAt) => sizes(environment, countAt, lengthAt),
    environ_get: (table, at) => put(environment, table, at),

    clock_time_get(clock, precision, at) {
      view().setBigUint64(at, BigInt(Math.round((clock === 0 ? Date.now() : performance.now()) * 1e6)), true);
      return OK;
    },
    random_get(at, len) {
      for (let done = 0; done < len; done += 65536) { // as much as the browser gives at a time
        const part = new Uint8Array(Math.min(65536, len - done));
        crypto.getRandomValues(part);
        bytes(at + done, part.length).set(part);
      }
      return OK;
    },
    proc_exit(status) {
      throw new Exit(status);
    },
    sched_yield: () => OK,

    fd_prestat_get(fd, at) {
      if (fd !== ROOT)
        return BADF;
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true);
      return OK;
    },
    fd_prestat_dir_name(fd, at) {
      bytes(at, 1)[0] = 0x2f;
      return fd === ROOT ? OK : BADF;
    },
    fd_fdstat_get(fd, at) {
      if (!open[fd])
        return BADF;
      bytes(at, 24).fill(0);
      view().setUint8(at, fd < ROOT ? UNKNOWN : open[fd].node instanceof Map ? DIRECTORY : REGULAR_FILE);
      // every right; of standard streams nothing is known, so that none counts as a terminal
      view().setBigUint64(at + 8, fd < ROOT ? 0x1fffffdbn : 0x1fffffffn, true);
      view().setBigUint64(at + 16, 0x1fffffffn, true);
      return OK;
    },
    fd_fdstat_set_flags: () => OK,
    fd_filestat_get(fd, at) {
      if (!open[fd])
        return BADF;
      if (fd >= ROOT)
        return stat(open[fd].node, at);
      bytes(at, 64).fill(0);
      view().setUint8(at + 16, UNKNOWN);
      return OK;
    },
    fd_close(fd) {
      if (!open[fd])
        return BADF;
      open[fd] = undefined;
      return OK;
    },
    fd_seek(fd, offset, whence, at) {
      const f = open[fd];
      if (!f?.node || f.node instanceof Map)
        return f ? SPIPE : BADF;
      const to = Number(offset) + [0, f.position, f.node.size][whence];
      if (to < 0)
        return INVAL;
      f.position = to;
      view().setBigUint64(at, BigInt(to), true);
      return OK;
    },
    fd_read(fd, vectorsAt, count, doneAt) {
      const f = open[fd];
      if (!f)
        return BADF;
      if (!f.node) { // standard input is at its end
        view().setUint32(doneAt, 0, true);
        return OK;
      }
      f.position += scatter(fd, vectorsAt, count, f.position, doneAt);
      return OK;
    },
    fd_pread(fd, vectorsAt, count, from, doneAt) {
      if (!open[fd]?.node)
        return BADF;
      scatter(fd, vectorsAt, count, Number(from), doneAt);
      return OK;
    },
    fd_write(fd, vectorsAt, count, doneAt) {
      let done = 0;
      if (fd !== 1 && fd !== 2)
        return BADF;
      for (const [at, len] of vectors(vectorsAt, count)) {
        const part = bytes(at, len).slice();
        if (fd === 1)
          output.push(part);
        else
          errors += decoder.decode(part);
        done += len;
      }
      view().setUint32(doneAt, done, true);
      return OK;
    },
    fd_readdir(fd, at, len, cookie, usedAt) {
      const folder = open[fd]?.node;
      let used = 0, next = Number(cookie);
      if (!(folder instanceof Map))
        return open[fd] ? NOTDIR : BADF;
      for (const [name, node] of [...folder].slice(next)) {
        const entry = new Uint8Array(24 + encoder.encode(name).length), v = new DataView(entry.buffer);
        v.setBigUint64(0, BigInt(++next), true);
        v.setBigUint64(8, BigInt(inode(node)), true);
        v.setUint32(16, entry.length - 24, true);
        v.setUint8(20, node instanceof Map ? DIRECTORY : REGULAR_FILE);
        entry.set(encoder.encode(name), 24);
        const part = entry.subarray(0, len - used); // the last one may be cut: it is asked for again
        bytes(at + used, part.length).set(part);
        used += part.length;
        if (used === len)
          break;
      }
      view().setUint32(usedAt, used, true);
      return OK;
    },
    path_open(fd, flags, at, len, wanted, rights, inherited, how, fdAt) {
      const node = open[fd]?.node instanceof Map ? find(open[fd].node, text(at, len)) : undefined;
      if (!node)
        return NOENT;
      if (wanted & 2 && !(node instanceof Map))
        return NOTDIR;
      let free = ROOT + 1;
      while (open[free])
        free++;
      open[free] = { node, position: 0 };
      view().setUint32(fdAt, free, true);
      return OK;
    },
    path_filestat_get(fd, flags, at, len, into) {
      const node = open[fd]?.node instanceof Map ? find(open[fd].node, text(at, len)) : undefined;
      return node ? stat(node, into) : NOENT;
    },
    path_readlink: () => INVAL, // nothing is a link
  };

  return {
    // What a module imports; what is not among the calls is not there.
    imports(module) {
      const names = WebAssembly.Module.imports(module).map(wanted => wanted.name);
      return { wasi_snapshot_preview1: Object.fromEntries(names.map(name => [name, calls[name] ?? (() => NOSYS)])) };
    },
    attach(instance) { memory = instance.exports.memory; },
    result(status) { return { status, output: new Blob(output), errors }; },
  };
}

onmessage = async ({ data: { module, args, files } }) => {
  const s = system(files, args, read => postMessage({ read }));
  let status = 0;
  try {
    const instance = await WebAssembly.instantiate(module, s.imports(module));
    s.attach(instance);
    instance.exports._start();
  } catch (error) {
    if (!(error instanceof Exit)) {
      const { errors, output } = s.result(70);
      postMessage({ status: 70, output, errors: `${errors}minspect ended: ${error.message}\n` });
      return;
    }
    status = error.status;
  }
  postMessage(s.result(status));
};
