/** Tools, resources and prompts that the scenarios of the official MCP suite expect. */
import { setTimeout as delay } from "node:timers/promises";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  GetPromptRequestSchema,
  type GetPromptResult,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
type Arguments = Readonly<Record<string, unknown>>;

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const text = (value: string) => ({ type: "text" as const, text: value });
const image = { type: "image" as const, data: PNG, mimeType: "image/png" };
const resource = (uri: string, mimeType: string, content: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType, text: content },
});

/** Asks the user of the client for values of `properties`. */
async function elicit(extra: Extra, message: string, properties: object, required: string[] = []) {
  const requestedSchema = { type: "object", properties, required };
  const params = { message, requestedSchema } as never;
  const { action, content } = await extra.sendRequest(
    { method: "elicitation/create", params },
    ElicitResultSchema,
  );
  return `action=${action}, content=${JSON.stringify(content)}`;
}

async function log(extra: Extra, data: string): Promise<void> {
  await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });
}

const options = (noun: string) =>
  [1, 2, 3].map((n) => ({ const: `value${n}`, title: `${["First", "Second", "Third"][n - 1]} ${noun}` }));

const tools: Record<string, (args: Arguments, extra: Extra) => CallToolResult | Promise<CallToolResult>> = {
  test_simple_text: () => ({ content: [text("This is a simple text response for testing.")] }),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({
    content: [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  }),
  test_multiple_content_types: () => ({
    content: [
      text("Multiple content types test:"),
      image,
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  }),
  async test_tool_with_logging(_args, extra) {
    await log(extra, "Tool execution started");
    await delay(50);
    await log(extra, "Tool processing data");
    await delay(50);
    await log(extra, "Tool execution completed");
    return { content: [text("done")] };
  },
  test_error_handling: () => ({
    isError: true,
    content: [text("This tool intentionally returns an error for testing")],
  }),
  async test_tool_with_progress(_args, extra) {
    const progressToken = extra._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await extra.sendNotification({
          method: "notifications/progress",
          params: { progressToken, progress, total: 100 },
        });
      await delay(50);
    }
    return { content: [text("done")] };
  },
  async test_sampling({ prompt }, extra) {
    const messages = [{ role: "user" as const, content: text(String(prompt)) }];
    const request = { method: "sampling/createMessage" as const, params: { messages, maxTokens: 100 } };
    const { content } = await extra.sendRequest(request, CreateMessageResultSchema);
    return { content: [text(`LLM response: ${content.type === "text" ? content.text : content.type}`)] };
  },
  async test_elicitation({ message }, extra) {
    const properties = {
      username: { type: "string", description: "User's response" },
      email: { type: "string", description: "User's email address" },
    };
    const answer = await elicit(extra, String(message), properties, ["username", "email"]);
    return { content: [text(`User response: ${answer}`)] };
  },
  async test_elicitation_sep1034_defaults(_args, extra) {
    const answer = await elicit(extra, "Defaults", {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    });
    return { content: [text(`Elicitation completed: ${answer}`)] };
  },
  async test_elicitation_sep1330_enums(_args, extra) {
    const plain = ["option1", "option2", "option3"];
    const answer = await elicit(extra, "Enums", {
      untitledSingle: { type: "string", enum: plain },
      titledSingle: { type: "string", oneOf: options("Option") },
      legacyEnum: {
        type: "string",
        enum: ["opt1", "opt2", "opt3"],
        enumNames: ["Option One", "Option Two", "Option Three"],
      },
      untitledMulti: { type: "array", items: { type: "string", enum: plain } },
      titledMulti: { type: "array", items: { anyOf: options("Choice") } },
    });
    return { content: [text(`Elicitation completed: ${answer}`)] };
  },
  async test_reconnection(_args, extra) {
    extra.closeSSEStream?.();
    await delay(100);
    return { content: [text("Reconnection test completed successfully")] };
  },
  json_schema_2020_12_tool: () => ({ content: [] }),
};

/** Input schemas of the tools with arguments. */
const inputSchemas: Record<string, { type: "object"; [keyword: string]: unknown }> = {
  test_sampling: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
  test_elicitation: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
  json_schema_2020_12_tool: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
    },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
    additionalProperties: false,
  },
};

const required = (name: string) => ({ name, description: name, required: true });
const says = (...contents: GetPromptResult["messages"][number]["content"][]): GetPromptResult => ({
  messages: contents.map((content) => ({ role: "user", content })),
});

const prompts: Record<
  string,
  { arguments: ReturnType<typeof required>[]; get: (args: Arguments) => GetPromptResult }
> = {
  test_simple_prompt: { arguments: [], get: () => says(text("This is a simple prompt for testing.")) },
  test_prompt_with_arguments: {
    arguments: [required("arg1"), required("arg2")],
    get: ({ arg1, arg2 }) => says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    arguments: [required("resourceUri")],
    get: ({ resourceUri }) =>
      says(
        resource(String(resourceUri), "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  },
  test_prompt_with_image: { arguments: [], get: () => says(image, text("Please analyze the image above.")) },
};

const described = (name: string) => ({ name, description: `The fixture ${name}.` });

/** Registers these fixtures instead of the plugin's tools. */
export function registerFixtures({ server }: McpServer): void {
  server.registerCapabilities({
    logging: {},
    completions: {},
    prompts: {},
    resources: { subscribe: true },
  });
  registerTools(server);
  registerResources(server);
  server.setRequestHandler(SetLevelRequestSchema, () => ({}));
  server.setRequestHandler(CompleteRequestSchema, () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: Object.entries(prompts).map(([name, prompt]) => ({
      ...described(name),
      arguments: prompt.arguments,
    })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const prompt = prompts[params.name];
    if (!prompt) throw new Error("no such prompt");
    return prompt.get(params.arguments ?? {});
  });
}

function registerTools(server: Server): void {
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.keys(tools).map((name) => ({
      ...described(name),
      inputSchema: inputSchemas[name] ?? { type: "object" as const },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const tool = tools[params.name];
    if (!tool) throw new Error("no such tool");
    return tool(params.arguments ?? {}, extra);
  });
}

function registerResources(server: Server): void {
  const found = [
    { uri: "test://static-text", ...described("static-text"), mimeType: "text/plain" },
    { uri: "test://static-binary", ...described("static-binary"), mimeType: "image/png" },
  ];
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: found }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", ...described("template") }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const id = /^test:\/\/template\/(.*)\/data$/.exec(uri)?.[1];
    if (uri === "test://static-binary") return { contents: [{ uri, mimeType: "image/png", blob: PNG }] };
    if (id === undefined)
      return {
        contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }],
      };
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri, mimeType: "application/json", text: data }] };
  });
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
}
