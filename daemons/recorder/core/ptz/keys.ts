/** The keys of cameras that turn. */
import { Type } from 'typebox'

export const ptz = Type.Object(
  {
    answer_ms: Type.Integer({
      default: 4000,
      minimum: 500,
      maximum: 60_000,
      unit: 'ms',
      description: 'how long a camera may take to answer a command',
    }),
    move_ms: Type.Integer({
      default: 800,
      minimum: 200,
      maximum: 10_000,
      unit: 'ms',
      description: 'a move by hand that is not renewed ends; what a client that died leaves moving goes on for so long',
    }),
    overtake_ms: Type.Integer({
      default: 500,
      minimum: 50,
      maximum: 10_000,
      unit: 'ms',
      description: 'how long a stop waits for a command that the camera has not answered yet',
    }),
    stop_tries: Type.Integer({
      default: 3,
      minimum: 1,
      maximum: 10,
      description: 'how often a stop is sent that the camera does not take',
    }),
    hold_ms: Type.Integer({
      default: 30_000,
      minimum: 0,
      maximum: 3_600_000,
      unit: 'ms',
      description: 'for so long after the last command no rule takes a camera from a person who steers it',
    }),
    arrive_ms: Type.Integer({
      default: 10_000,
      minimum: 1000,
      maximum: 120_000,
      unit: 'ms',
      description: 'how long a camera may take to get where it was sent, and its picture to show it',
    }),
    behind_ms: Type.Integer({
      default: 500,
      minimum: 0,
      maximum: 10_000,
      unit: 'ms',
      description: 'how much later than it looks somewhere a camera shows it',
    }),
    follow_ms: Type.Integer({
      default: 500,
      minimum: 500,
      maximum: 10_000,
      unit: 'ms',
      description: 'auto tracking: time between two positions that a camera is sent to',
    }),
    lead_ms: Type.Integer({
      default: 400,
      minimum: 0,
      maximum: 5000,
      unit: 'ms',
      description: 'auto tracking: how far ahead of who is followed the camera is sent',
    }),
    lost_ms: Type.Integer({
      default: 3000,
      minimum: 500,
      maximum: 60_000,
      unit: 'ms',
      description: 'auto tracking: who is not seen for so long is lost',
    }),
    presets: Type.Integer({
      default: 256,
      minimum: 1,
      maximum: 1024,
      description: 'presets of one camera that are read',
    }),
    facts_s: Type.Integer({
      default: 600,
      minimum: 10,
      maximum: 86_400,
      unit: 's',
      description: 'how long what a camera said of how it turns is believed',
    }),
  },
  { additionalProperties: false, default: {}, description: 'cameras that turn' },
)
