// What every agent here has in common: its task, its one tool, and the change a test asks for.

const change = process.env.AGENT_CHANGE;

export const prompt = process.env.FLOWPROOF_PROMPT;
export const streaming = process.env.AGENT_STREAM === "1";
export const system = `You are a weather clerk.${change === "system" ? " Be kind." : ""}`;
export const name = "get_weather";
export const description = `The weather of a ${change === "tool" ? "town" : "city"}.`;
export const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

export function weather({ city }) {
  return `${change === "result" ? 5 : 4} degrees in ${city}`;
}
