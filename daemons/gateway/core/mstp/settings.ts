/** The settings of an MS/TP line. */
import { type Static, Type } from 'typebox'

export const mstpSettings = Type.Object(
  {
    mode: Type.Enum(['node', 'listen'], {
      default: 'node',
      description: 'node: a master of the ring; listen: hears everything and never sends a byte',
    }),
    mac: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 127,
      description: 'address of this node, of nobody else on the line',
    }),
    max_master: Type.Integer({
      default: 127,
      minimum: 1,
      maximum: 127,
      description: 'highest address that is polled for a master',
    }),
    max_info_frames: Type.Integer({
      default: 1,
      minimum: 1,
      maximum: 100,
      description: 'frames that are sent with one token',
    }),
    frames: Type.Enum(['all', 'data'], {
      default: 'all',
      description: 'which frames are events: data leaves out tokens, polls for masters and their replies',
    }),
    reply_timeout_ms: Type.Integer({
      default: 255,
      minimum: 255,
      maximum: 300,
      description: 'Treply_timeout: how long a node may take to begin its reply, ms',
    }),
    usage_timeout_ms: Type.Integer({
      default: 30,
      minimum: 20,
      maximum: 100,
      description:
        'Tusage_timeout: how long a node may take to use the token or answer a poll, ms; the standard allows 20 to 35',
    }),
    postponed_ms: Type.Integer({
      default: 10_000,
      minimum: 100,
      maximum: 600_000,
      description: 'how long a reply that was postponed is waited for, ms',
    }),
    late_reply_ms: Type.Integer({
      default: 10_000,
      minimum: 0,
      maximum: 600_000,
      description:
        'how long a reply that did not come may still come; meanwhile no other request goes out that it could answer, ms',
    }),
    request_deadline_ms: Type.Integer({
      default: 10_000,
      minimum: 100,
      maximum: 600_000,
      description: 'how long a frame waits for the token, ms',
    }),
    node_gone_ms: Type.Integer({
      default: 10_000,
      minimum: 1000,
      maximum: 600_000,
      description: 'how long a master is not heard until it has left the ring, and the line until nobody is on it, ms',
    }),
    queue: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 256,
      description: 'frames that wait for the token or for their reply; the next is refused',
    }),
  },
  { additionalProperties: false },
)

export type MstpSettings = Static<typeof mstpSettings>

/** Settings that do not go together. */
export function mstpSettingsFaults({
  mac,
  max_master: most,
  mode,
}: MstpSettings): { field: string; message: string }[] {
  if (mode === 'listen' || mac <= most) return []
  return [{ field: 'mac', message: `is ${mac}, beyond max_master (${most}): no other node would look for this one` }]
}
