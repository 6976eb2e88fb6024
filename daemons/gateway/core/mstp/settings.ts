/** The settings of an MS/TP line. */
import { type Static, Type } from 'typebox'

/** Four numbers; what is no address is refused by the system when it is opened. */
const IPV4 = '^\\d{1,3}(\\.\\d{1,3}){3}$'

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
    ip_port: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 65_535,
      description: 'UDP port of the router to BACnet/IP, usually 47808; each line its own; 0: no router',
    }),
    ip_listen: Type.String({
      default: '0.0.0.0',
      pattern: IPV4,
      maxLength: 15,
      description: 'IPv4 address of this machine that the router listens on',
    }),
    ip_broadcast: Type.String({
      default: '255.255.255.255',
      pattern: IPV4,
      maxLength: 15,
      description: 'IPv4 address at which all on the network of BACnet/IP are reached',
    }),
    ip_network: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 65_534,
      description: 'number of the BACnet/IP network, the same in all its routers; needed for the router',
    }),
    ring_network: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 65_534,
      description: 'number of this ring as a BACnet network, which no other has; needed for the router',
    }),
    foreign_devices: Type.Integer({
      default: 32,
      minimum: 0,
      maximum: 512,
      description: 'devices of other IP networks that may register for broadcasts; 0: none',
    }),
    foreign_per_address: Type.Integer({
      default: 8,
      minimum: 1,
      maximum: 512,
      description: 'of these, how many may register from one IP address',
    }),
    ip_broadcasts_per_s: Type.Integer({
      default: 400,
      minimum: 4,
      maximum: 10_000,
      description:
        'messages for everybody from BACnet/IP that go on in a second, of one address a quarter of them; the others are dropped',
    }),
    queue: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 256,
      description:
        'frames that wait for the token or for their reply; the next is refused. From BACnet/IP three quarters of them at most, from one address half of these',
    }),
  },
  { additionalProperties: false },
)

export type MstpSettings = Static<typeof mstpSettings>

/** Settings that do not go together. */
export function mstpSettingsFaults(settings: MstpSettings): { field: string; message: string }[] {
  const { ip_port: ipPort, mac, max_master: most, mode } = settings
  const faults = ipPort > 0 ? routerFaults(settings) : []
  if (mode === 'listen' || mac <= most) return faults
  const message = `is ${mac}, beyond max_master (${most}): no other node would look for this one`
  return [{ field: 'mac', message }, ...faults]
}

function routerFaults({
  ip_network: ip,
  mode,
  ring_network: ring,
}: MstpSettings): { field: string; message: string }[] {
  const needed = (field: string) => ({ field, message: 'is needed for the router (ip_port): a number from 1 to 65534' })
  return [
    ...(mode === 'listen' ? [{ field: 'ip_port', message: 'is a router, and a line that only listens has none' }] : []),
    ...(ring === 0 ? [needed('ring_network')] : []),
    ...(ip === 0 ? [needed('ip_network')] : []),
    ...(ring > 0 && ring === ip
      ? [{ field: 'ring_network', message: 'is the number of the BACnet/IP network too' }]
      : []),
  ]
}
