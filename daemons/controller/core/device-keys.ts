/** The tables of controller.toml about devices: drivers, what devices say, and its history. */
import { Type } from 'typebox'
import { countKey } from './keys.ts'

// Tables `drivers` and `live`.

/** Limits and timeouts of drivers. */
export const driverKeys = Type.Object(
  {
    queue: countKey('', 64, [1, 4096], 'commands that wait for one device'),
    waiters: countKey('', 256, [1, 4096], 'callers that wait for one command, because theirs became one'),
    command_chars: countKey(
      '',
      8_388_608,
      [65_536, 1_073_741_824],
      'characters of the commands of all devices that wait or are being carried out, 16 for each value beside its text; beyond, the device with most loses its newest',
    ),
    wait_ms: countKey('ms', 10_000, [100, 600_000], 'how long a command waits for its turn'),
    deadline_ms: countKey('ms', 5000, [100, 60_000], 'time a device has for one command or poll'),
    grace_ms: countKey('ms', 1000, [10, 10_000], 'time a driver has to let go of a late one'),
    open_ms: countKey('ms', 10_000, [100, 120_000], 'time to open a device'),
    close_ms: countKey('ms', 2000, [100, 60_000], 'time to close one'),
    retry_first_ms: countKey('ms', 1000, [100, 60_000], 'wait before a lost device is tried again; doubles each time'),
    retry_max_ms: countKey('ms', 60_000, [1000, 3_600_000], 'longest wait between tries'),
    poll_min_ms: countKey('ms', 100, [10, 60_000], 'shortest time between two polls of a device'),
    answer_chars: countKey('', 65_536, [256, 1_048_576], 'characters of an answer of a device'),
    opening: countKey('', 64, [1, 1024], 'devices opened at once'),
    connect_ms: countKey('ms', 3000, [100, 60_000], 'time to connect to a device over TCP'),
    keep_ms: countKey('ms', 1000, [0, 60_000], 'how long such a connection is kept after what was sent last'),
    log_every_ms: countKey('ms', 10_000, [100, 3_600_000], 'a driver logs at most one line per device in this time'),
    unsent: countKey('', 64, [1, 1024], 'messages that wait to be sent to one device'),
    unsent_bytes: countKey('bytes', 65_536, [256, 1_048_576], 'the same in bytes; one message alone may have more'),
    heard_devices: countKey(
      '',
      512,
      [1, 65_536],
      'devices with a lasting connection, so that they can report by themselves',
    ),
    frame_bytes: countKey('bytes', 4096, [64, 65_536], 'the longest message of a device; a longer one is dropped'),
    message_bytes: countKey(
      'bytes',
      65_536,
      [4096, 1_048_576],
      'the longest message of a device over WebSocket; a longer one ends its connection',
    ),
    ping_ms: countKey(
      'ms',
      5000,
      [500, 600_000],
      'how often a device with a WebSocket is asked for a sign of life; it is lost when it gives none until the next time',
    ),
    heard_bytes: countKey(
      'bytes',
      262_144,
      [1024, 134_217_728],
      'bytes read from one device per second, each message and each packet counting 64 more. A faster one is slowed down, or disconnected if it sends datagrams',
    ),
    heard_in_all: countKey(
      'bytes',
      8_388_608,
      [65_536, 1_073_741_824],
      'the same for all devices together; when it is reached, devices above their equal share are slowed down',
    ),
    kept_bytes: countKey(
      'bytes',
      16_777_216,
      [1_048_576, 1_073_741_824],
      'memory for all devices together: partial messages, answers, messages to send. When it is full, the device that holds most is disconnected',
    ),
    http_bytes: countKey('bytes', 262_144, [1024, 16_777_216], 'the longest answer of a device over HTTP'),
    still_ms: countKey(
      'ms',
      5000,
      [500, 600_000],
      'how often a page asks for the picture of a camera that it shows, and a recorder for it at most',
    ),
    stills: countKey('', 64, [1, 1024], 'pictures of cameras that are kept meanwhile, of drivers.http_bytes each'),
    stills_at_once: countKey('', 8, [1, 64], 'pictures of cameras that are asked for at once'),
    stills_per_device: countKey('', 2, [1, 64], 'of one recorder'),
    still_look_ms: countKey(
      'ms',
      600_000,
      [1000, 86_400_000],
      'who has not asked for the picture of a camera for so long begins to look at it, which the audit records',
    ),
    still_looks: countKey(
      '',
      1024,
      [1, 65_536],
      'looks at cameras that are remembered for that; then the oldest is recorded once more',
    ),
    definition_bytes: countKey(
      'bytes',
      1_048_576,
      [65_536, 16_777_216],
      'files of all device definitions in use; beyond, the next is refused',
    ),
    own_definitions: countKey('', 200, [0, 10_000], 'device definitions of your own that the page keeps'),
    webhooks_per_s: countKey('', 200, [1, 10_000], 'webhooks of one device taken in a second; further ones are 429'),
    mqtt_bytes: countKey(
      'bytes',
      1_048_576,
      [1024, 16_777_216],
      'the longest message of an MQTT broker; one that sends a longer one is disconnected',
    ),
    mqtt_topics: countKey('', 1024, [8, 65_536], 'topics of an MQTT broker that one device may hear'),
    mqtt_topics_in_all: countKey('', 8192, [8, 1_048_576], 'the same for all devices together'),
    overrides: countKey('', 8, [1, 64], 'overrides that one command may pass through'),
  },
  { additionalProperties: false, default: {}, description: 'drivers of devices' },
)

/** Limits on the live state that devices report. */
export const liveKeys = Type.Object(
  {
    fields: countKey('', 64, [8, 1024], 'values that one zone may have'),
    field_chars: countKey('', 4096, [64, 65_536], 'characters of one value'),
    total_chars: countKey(
      '',
      16_777_216,
      [65_536, 1_073_741_824],
      'characters of all values and their names; what a zone says beyond is left out, as with the bounds of one zone',
    ),
  },
  { additionalProperties: false, default: {}, description: 'what devices and zones do now' },
)

// Table `history`.

/** The history of attributes: how much is kept, and how often it is written. */
export const historyKeys = Type.Object(
  {
    keep_days: countKey('days', 90, [1, 3650], 'days for which values of attributes are kept in attribute_history'),
    most_rows: countKey(
      '',
      1_000_000,
      [1000, 50_000_000],
      'values kept at most, each about 50 bytes; the oldest go first',
    ),
    write_ms: countKey(
      'ms',
      10_000,
      [100, 600_000],
      'changes are gathered for so long before they are written together; a power cut loses as much',
    ),
    batch_rows: countKey(
      '',
      1000,
      [1, 10_000],
      'changes written together; when as many wait, they are written at once',
    ),
    queue_rows: countKey(
      '',
      16_384,
      [64, 1_000_000],
      'changes that wait for the disk; beyond, only the last of each attribute is kept, of as many attributes',
    ),
    queue_chars: countKey('', 4_194_304, [65_536, 268_435_456], 'the same in characters of their values'),
    device_rows: countKey(
      '',
      300,
      [1, 1_000_000],
      'changes of one device in write_ms; beyond, only the last of each of its attributes is kept',
    ),
    settle_ms: countKey(
      'ms',
      3_600_000,
      [10_000, 86_400_000],
      'how often the rows of attributes are written, and values that are too old removed; a start reads what is newer from the history',
    ),
    settle_rows: countKey('', 200_000, [1000, 10_000_000], 'changes after which that is done before its time'),
  },
  { additionalProperties: false, default: {}, description: 'the history of attributes (attribute_history)' },
)
