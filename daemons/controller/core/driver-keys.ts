/** Keys of the tables `drivers` and `live` in controller.toml. */
import { Type } from 'typebox'
import { count } from './limit.ts'

/** How devices are driven. */
export const driverKeys = Type.Object(
  {
    queue: count('', 64, [1, 4096], 'commands that wait for one device'),
    waiters: count('', 256, [1, 4096], 'callers that wait for one command, because theirs became one'),
    command_chars: count(
      '',
      8_388_608,
      [65_536, 1_073_741_824],
      'characters of the commands of all devices that wait or are being carried out, 16 for each value beside its text; beyond, the device with most loses its newest',
    ),
    wait_ms: count('ms', 10_000, [100, 600_000], 'how long a command waits for its turn'),
    deadline_ms: count('ms', 5000, [100, 60_000], 'time a device has for one command or poll'),
    grace_ms: count('ms', 1000, [10, 10_000], 'time a driver has to let go of a late one'),
    open_ms: count('ms', 10_000, [100, 120_000], 'time to open a device'),
    close_ms: count('ms', 2000, [100, 60_000], 'time to close one'),
    retry_first_ms: count('ms', 1000, [100, 60_000], 'wait before a lost device is tried again; doubles each time'),
    retry_max_ms: count('ms', 60_000, [1000, 3_600_000], 'longest wait between tries'),
    poll_min_ms: count('ms', 100, [10, 60_000], 'shortest time between two polls of a device'),
    answer_chars: count('', 65_536, [256, 1_048_576], 'characters of an answer of a device'),
    opening: count('', 64, [1, 1024], 'devices opened at once'),
    connect_ms: count('ms', 3000, [100, 60_000], 'time to connect to a device over TCP'),
    keep_ms: count('ms', 1000, [0, 60_000], 'how long such a connection is kept after what was sent last'),
    log_every_ms: count('ms', 10_000, [100, 3_600_000], 'one line of a driver a device and period'),
    overrides: count('', 8, [1, 64], 'overrides that one command may pass through'),
  },
  { additionalProperties: false, default: {}, description: 'drivers of devices' },
)

/** What is kept of what devices say. */
export const liveKeys = Type.Object(
  {
    fields: count('', 64, [8, 1024], 'values that one zone may have'),
    field_chars: count('', 4096, [64, 65_536], 'characters of one value'),
    total_chars: count(
      '',
      16_777_216,
      [65_536, 1_073_741_824],
      'characters of all values and their names; what a zone says beyond is left out, as with the bounds of one zone',
    ),
  },
  { additionalProperties: false, default: {}, description: 'what devices and zones do now' },
)
