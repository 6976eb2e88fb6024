/** Keys of the table `usbip` in board.toml. */
import { Type } from 'typebox'
import { USBIP_PORT } from '../wire/op-header.ts'

/** Port, bounds and times of sharing a USB device. */
export const usbipTable = Type.Object(
  {
    port: Type.Integer({
      default: USBIP_PORT,
      minimum: 0,
      maximum: 65_535,
      description: 'TCP port for USB/IP hosts; 0 takes a free one',
    }),
    host: Type.String({
      default: '::',
      minLength: 2,
      maxLength: 45,
      description: 'address to listen on for them; :: is every one, of IPv4 as well',
    }),
    allow_entries: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 1024,
      description: 'addresses and networks that the list of those who may connect can hold',
    }),
    connections: Type.Integer({
      default: 32,
      minimum: 1,
      maximum: 4096,
      description:
        'hosts that may be asking at once; the address with most makes room. One that has a device does not count',
    }),
    connections_per_host: Type.Integer({
      default: 8,
      minimum: 1,
      maximum: 4096,
      description: 'of them, from one address (IPv6: one /64)',
    }),
    op_timeout_ms: Type.Integer({
      default: 5000,
      minimum: 100,
      maximum: 60_000,
      unit: 'ms',
      description: 'time a host has to say what it wants, and to take the answer',
    }),
    hold_ms: Type.Integer({
      default: 60_000,
      minimum: 0,
      maximum: 3_600_000,
      unit: 'ms',
      description: 'time for which a host that a device was taken from does not get it again',
    }),
    look_ms: Type.Integer({
      default: 3000,
      minimum: 200,
      maximum: 60_000,
      unit: 'ms',
      description: 'time between looks at what is plugged in, where the kernel says nothing',
    }),
    retry_ms: Type.Integer({
      default: 5000,
      minimum: 200,
      maximum: 600_000,
      unit: 'ms',
      description: 'time until a device that could not be shared, or freed, is tried again',
    }),
    keepalive_idle_s: Type.Integer({
      default: 5,
      minimum: 1,
      maximum: 32_767,
      unit: 's',
      description: 'silence of a host after which it is asked whether it is there',
    }),
    keepalive_interval_s: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 32_767,
      unit: 's',
      description: 'time between such questions',
    }),
    keepalive_count: Type.Integer({
      default: 3,
      minimum: 1,
      maximum: 127,
      description: 'unanswered ones that free the device',
    }),
    user_timeout_ms: Type.Integer({
      default: 11_000,
      minimum: 1000,
      maximum: 600_000,
      unit: 'ms',
      description: 'time for which what was sent to a host may stay unacknowledged before the device is freed',
    }),
    sysfs: Type.String({
      default: '/sys',
      minLength: 1,
      maxLength: 256,
      description: 'where the kernel tells of its devices',
    }),
  },
  { additionalProperties: false, default: {}, description: 'sharing a USB device' },
)
