// Select some lines, then ask Gemini CLI (in `:terminal gemini`) about them.
function greet(name) {
  return ["Hello", name].join(", ");
}

console.log(greet("world"));
