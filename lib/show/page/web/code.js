// code.js - texts with colours. A text is cut into blocks of lines; a block gets its colours when it
// comes into view, so that a megabyte opens at once.

const BLOCK = 100; // lines

const words = (text) => new Set(text.split(" "));

const C_TYPES = "void bool char short int long float double half unsigned signed size_t uint uchar ushort ulong int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t float2 float4 float8 float16 half2 half4 half8 int2 int4 uint2 uint4 char4 uchar4 ushort4 short4 f32 f16 i32 u32 vec2 vec3 vec4 array atomic ptr image2d_t sampler_t texture2d __nv_bfloat16 bfloat __half";
const C_WORDS = "if else for while do return break continue switch case default struct union enum typedef const volatile static inline extern restrict sizeof template typename using namespace class public goto fn var let loop override diagnostic enable discard auto true false nullptr register asm alignas constexpr";
const C_SPACES = "__kernel __global __local __constant __private kernel global local constant __global__ __device__ __shared__ __host__ __launch_bounds__ __restrict__ __forceinline__ __constant__ __attribute__ device thread threadgroup storage uniform workgroup read_write read write __read_only __write_only __read_write blockIdx threadIdx blockDim gridDim get_group_id get_local_id get_global_id barrier __syncthreads workgroupBarrier threadgroup_barrier";

function cLike(comment) {
  return {
    comment, // what may reach over lines
    pattern: /(\/\/.*|\/\*.*?(?:\*\/|$))|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|^(\s*#\s*\w+)|(@\w+|\[\[.*?\]\])|(\b(?:0[xX][\da-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)[uUlLfFhi]*\b)|([A-Za-z_]\w*)(?=(\s*\()?)/g,
    classify(m) {
      if (m[1]) return "comment";
      if (m[2]) return "string";
      if (m[3]) return "directive";
      if (m[4]) return "space";
      if (m[5]) return "number";
      if (C.spaces.has(m[6])) return "space";
      if (C.types.has(m[6])) return "type";
      if (C.words.has(m[6])) return "word";
      return m[7] !== undefined ? "call" : null;
    },
  };
}

const C = { types: words(C_TYPES), words: words(C_WORDS), spaces: words(C_SPACES) };

const LANGUAGES = {
  c: cLike(true),
  ptx: {
    comment: true,
    pattern: /(\/\/.*|\/\*.*?(?:\*\/|$))|("[^"]*"?)|(%[\w$.]+)|(^\s*(?:[@!%\w$]+\s+)?[a-z][\w]*(?:\.[\w:]+)*(?=[\s;]))|(\.[a-z]\w*)|(\$[\w$]+)|(\b0[fdxFDX][\da-fA-F]+\b|-?\b\d+(?:\.\d+)?\b)/g,
    classify: (m) => m[1] ? "comment" : m[2] ? "string" : m[3] ? "register" : m[4] ? "word" : m[5] ? "directive" : m[6] ? "call" : "number",
  },
  bytecode: {
    pattern: /(@[\w.$]+|f\[[^\]]*\])|(%\w+)|(c\[\d+\])|(^\s*(?:call|ret|goto|If)\b|\b(?:in|dst):|\b(?:invoke_packed|invoke_closure|invoke|alloc_\w+|load_const\w*|get_\w+|reshape_tensor|shape_of|device_copy|kill_register|move|ret|if|goto|fatal)\b)|(\bi-?\d+\b|[-+]?\b\d+\b)|([A-Za-z_][\w.]*)/g,
    classify: (m) => m[1] ? "call" : m[2] ? "register" : m[3] ? "string" : m[4] ? "word" : m[5] ? "number" : /\./.test(m[6]) ? "directive" : "type",
  },
  json: {
    pattern: /("(?:\\.|[^"\\])*"?)(\s*:)?|(-?\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b)|\b(true|false|null)\b/g,
    classify: (m) => m[1] ? (m[2] ? "type" : "string") : m[3] ? "number" : "word",
    token: (m) => (m[1] ? m[1].length : m[0].length),
  },
  llvm: {
    pattern: /(;.*)|("[^"]*"?)|(%[\w.$-]+)|(@[\w.$-]+)|(\b-?\d+(?:\.\d+)?(?:e[-+]?\d+)?\b)|(\b(?:i\d+|ptr|void|float|double|half)\b)|(\b[a-z_]+\b)/g,
    classify: (m) => ["comment", "string", "register", "call", "number", "type", "word"][m.slice(1).findIndex(Boolean)],
  },
};
LANGUAGES.sass = {
  pattern: /(\/\/.*|\/\*[\da-fx]+\*\/|\bB[-\d]{6}:R[-\d]:W[-\d]:[-Y]:S\d\d)|("[^"]*"?)|(@!?U?P\w+|\b(?:U?R(?:Z|\d+)|U?P(?:T|\d)|SR_[\w.]+)\b)|(\b(?:cx?|desc)\[[^\]]*\](?:\[[^\]]*\])*)|(\.?L_\w+|`\([^)]*\))|(\b[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\b)|(-?\b0x[\da-f]+\b|-?\b\d+(?:\.\d+)?\b)/g,
  classify: (m) => ["comment", "string", "register", "space", "call", "word", "number"][m.slice(1).findIndex((piece) => piece !== undefined)],
};
LANGUAGES.asm = {
  pattern: /(^;.*|#.*|^\s*[\da-f]+:)|(<[^>]*>)|(%\w+|\b[svx](?:\d+|\[\d+:\d+\])|\b(?:exec|vcc|scc|m0)\b)|(^[\da-f]{16})|(\t[a-z][\w.]*)|(\$?-?\b0x[\da-f]+\b|\$?-?\b\d+\b)/g,
  classify: (m) => ["comment", "call", "register", "comment", "word", "number"][m.slice(1).findIndex((piece) => piece !== undefined)],
};
for (const name of ["opencl", "cuda", "metal", "wgsl"]) LANGUAGES[name] = LANGUAGES.c;

const LANGUAGE_NAMES = { opencl: "OpenCL C", cuda: "CUDA C++", metal: "Metal", wgsl: "WGSL", ptx: "PTX", json: "JSON", bytecode: "byte code", c: "C", llvm: "LLVM IR", text: "text" };

// One line as nodes; inComment says whether a comment began on a line before.
function colorLine(line, language, inComment) {
  const out = [];
  let at = 0;
  const token = (end, kind) => {
    if (end > at) out.push(kind ? el("span", { class: `t-${kind}` }, line.slice(at, end)) : line.slice(at, end));
    at = end;
  };
  if (inComment) {
    const end = line.indexOf("*/");
    token(end < 0 ? line.length : end + 2, "comment");
  }
  const { pattern, classify } = language;
  // a line of a generated text may be a megabyte: its colours would take longer than its sense
  if (line.length > 5000) pattern.lastIndex = line.length;
  else pattern.lastIndex = at;
  for (let m; at < line.length && (m = pattern.exec(line)); ) {
    token(m.index, null);
    token(m.index + (language.token ? language.token(m) : m[0].length), classify(m));
    if (pattern.lastIndex <= m.index) pattern.lastIndex = m.index + 1;
  }
  token(line.length, null);
  return out;
}

// Whether each line begins within a comment that an earlier one opened.
function commentsOf(lines) {
  const inside = new Uint8Array(lines.length + 1);
  let open = false;
  lines.forEach((line, i) => {
    inside[i] = open;
    if (!open && !line.includes("/*")) return;
    for (const m of line.matchAll(/\/\*|\*\/|\/\/|"(?:\\.|[^"\\])*"/g)) {
      if (open) open = m[0] !== "*/";
      else if (m[0] === "//") break;
      else open = m[0] === "/*";
    }
  });
  return inside;
}

function codeBlock(lines, first, language, comments) {
  const block = el("div", { class: "block" });
  block.style.counterReset = `line ${first}`;
  block.style.containIntrinsicSize = `auto ${lines.length * 20}px`;
  block.append(...lines.map((line) => el("div", { class: "line" }, line || " ")));
  block.color = () => {
    block.color = null;
    lines.forEach((line, i) => {
      if (line) block.children[i].replaceChildren(...colorLine(line, language, comments && comments[first + i]));
    });
  };
  return block;
}

const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    if (target.color) target.color();
  }
}, { rootMargin: "400px" });

function linesOf(text) {
  const lines = text.split("\n");
  if (lines.length > 1 && lines[lines.length - 1] === "") lines.pop();
  return lines;
}

// A text as an element; element.show(line) brings a line into view.
function codeView(text, languageName, label) {
  const lines = linesOf(text);
  const language = LANGUAGES[languageName];
  const comments = language && language.comment ? commentsOf(lines) : null;
  const view = el("div", { class: "code", tabindex: "0", role: "region", "aria-label": label });
  view.style.setProperty("--digits", `${String(lines.length).length}ch`);
  const blocks = [];
  for (let first = 0; first < lines.length; first += BLOCK) {
    const block = codeBlock(lines.slice(first, first + BLOCK), first, language, comments);
    blocks.push(block);
    if (language) watcher.observe(block);
  }
  view.append(...blocks);
  view.lineAt = (number) => blocks[Math.floor(number / BLOCK)].children[number % BLOCK];
  view.show = (number) => {
    const line = view.lineAt(number);
    for (const old of view.querySelectorAll(".found")) old.classList.remove("found");
    line.classList.add("found");
    line.scrollIntoView({ block: "center" });
  };
  return view;
}
