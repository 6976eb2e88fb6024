/** Keys of the table `modbus_tcp` in gateway.toml. */
import { type Static, Type } from 'typebox'

/** Bounds of every Modbus TCP port. */
export const modbusTcpKeys = Type.Object(
  {
    host: Type.String({
      default: '0.0.0.0',
      maxLength: 253,
      description:
        'address the Modbus TCP ports listen on; Modbus TCP has no login, so name one that only friends reach',
    }),
    clients_per_address: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 64,
      description:
        'clients of one address (IPv6: one /64) on one line; where all of tcp_clients are there, the address with most loses one to the next',
    }),
    clients: Type.Integer({
      default: 512,
      minimum: 1,
      maximum: 16_384,
      description:
        'clients of all lines together; where all are there, the address with most loses one to the next, else it is let go',
    }),
    backlog_bytes: Type.Integer({
      default: 65_536,
      minimum: 16_384,
      maximum: 16_777_216,
      unit: 'bytes',
      description: 'bytes of replies held for one client before it is read no further',
    }),
    slow_client_ms: Type.Integer({
      default: 5000,
      minimum: 10,
      maximum: 600_000,
      unit: 'ms',
      description: 'how long a client may leave more replies than that before it is cut off',
    }),
    idle_ms: Type.Integer({
      default: 60_000,
      minimum: 0,
      maximum: 86_400_000,
      unit: 'ms',
      description: 'how long a client may ask nothing before it is let go; 0 is for ever',
    }),
  },
  { additionalProperties: false, default: {}, description: 'Modbus TCP ports of Modbus lines' },
)

export type ModbusTcpLimits = Static<typeof modbusTcpKeys>
