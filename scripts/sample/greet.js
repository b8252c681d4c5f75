// Select some lines, then ask Gemini CLI about them: `:GeminiSend`.
function greet(name) {
  return ["Hello", name].join(", ");
}

console.log(greet("world"));
