/** The config table `mdns`: how daemons find each other. */
import { type Static, Type } from 'typebox'

/** The `mdns` table. */
export function mdnsTable() {
  return Type.Object(
    {
      enabled: Type.Boolean({ default: true, description: 'whether this daemon is announced, and looks for others' }),
      interface: Type.String({
        default: '',
        maxLength: 64,
        description: 'name or address of the only interface to use; empty means all, or the one that http listens on',
      }),
      per_second: Type.Integer({
        default: 40,
        minimum: 1,
        maximum: 10_000,
        description: 'messages looked at per second and sender, ten times as many at once; further ones are left out',
      }),
      recheck_ms: Type.Integer({
        default: 2000,
        minimum: 100,
        maximum: 600_000,
        unit: 'ms',
        description: 'how often is looked whether interfaces or addresses have changed',
      }),
    },
    { additionalProperties: false, default: {}, description: 'how daemons find each other on the network' },
  )
}

/** A checked `mdns` table. */
export type MdnsConfig = Static<ReturnType<typeof mdnsTable>>
