/** The settings of what a daemon tells through an MQTT broker. */
import { type Static, type TProperties, Type } from 'typebox'
import { bytes, count, milliseconds } from '../../pure/setting-keys.ts'

function words(byDefault: string, maxLength: number, description: string, check?: (value: unknown) => Sentence) {
  return Type.String({ default: byDefault, maxLength, description, ...(check && { check }) })
}

type Sentence = string | undefined

/** Who connects, where an installer writes it into the settings. */
function accountKeys() {
  return {
    url: words('', 300, 'the broker, mqtt://HOST:PORT or mqtts://HOST:PORT; empty: nothing is told', urlSentence),
    username: words('', 256, 'account at the broker; empty: none'),
    password_file: words('', 4096, 'file that holds the password of the account; empty: none'),
  }
}

function clientKeys() {
  return {
    ca_file: words('', 4096, 'PEM file of further certificate authorities for mqtts'),
    client_id: words('', 128, 'name of this client at the broker; empty: plantroom- and the id of this daemon'),
    keep_alive_s: Type.Integer({
      default: 30,
      minimum: 5,
      maximum: 3600,
      unit: 's',
      description: 'seconds between signs of life; the broker publishes the last will after one and a half of them',
    }),
  }
}

function boundKeys(topics = 10_000) {
  return {
    topics: count(topics, 16, 200_000, 'topics that are kept at the broker; further ones are left out'),
    queue: count(1000, 1, 100_000, 'events that wait for the broker; beyond, the oldest are dropped'),
    queue_bytes: bytes(1_048_576, 4096, 268_435_456, 'bytes of the events that wait for the broker'),
    in_flight: count(32, 1, 1000, 'messages that the broker has not acknowledged yet'),
    packet_bytes: bytes(65_536, 1024, 1_048_576, 'longest packet of the broker; one that sends a longer one is left'),
    connect_ms: milliseconds(10_000, 100, 600_000, 'time in which the broker takes the connection and this client'),
    answer_ms: milliseconds(10_000, 100, 600_000, 'time in which the broker acknowledges a message'),
    retry_first_ms: milliseconds(1000, 10, 600_000, 'wait before a lost broker is tried again; doubles each time'),
    retry_max_ms: milliseconds(60_000, 10, 3_600_000, 'longest such wait'),
  }
}

/** The `mqtt` table. @param own further keys, such as those of what a daemon tells */
export function mqttTable<Own extends TProperties>(own: Own) {
  return Type.Object(
    {
      ...accountKeys(),
      ...clientKeys(),
      topic_prefix: words(
        DEFAULT_PREFIX,
        256,
        'what all topics begin with; {id} stands for the id of this daemon',
        prefixSentence,
      ),
      qos: qosKey(),
      retain: Type.Boolean({ default: true, description: 'whether the broker keeps values and states' }),
      ...own,
      ...boundKeys(),
    },
    { additionalProperties: false, default: {}, description: 'what is told through an MQTT broker' },
  )
}

/**
 * The same table of a daemon whose administrator says the broker while it runs: what is left for the installer.
 * @param topics default of `mqtt.topics`
 */
export function mqttClientTable(topics: number) {
  return Type.Object(
    { ...clientKeys(), qos: qosKey(), ...boundKeys(topics) },
    { additionalProperties: false, default: {}, description: 'bounds of what is told through an MQTT broker' },
  )
}

/** Where topics begin unless somebody says otherwise. */
export const DEFAULT_PREFIX = 'plantroom/{id}'

function qosKey() {
  return Type.Enum([0, 1], { default: 1, description: 'quality of service: 1 is acknowledged by the broker' })
}

export type MqttConfig = Static<ReturnType<typeof mqttTable<Record<never, never>>>>

const URL_FORM = 'mqtt://HOST:PORT or mqtts://HOST:PORT, such as mqtts://broker.example:8883'

export interface BrokerAddress {
  host: string
  port: number
  isSecure: boolean
}

/** @returns undefined if it cannot be read */
export function addressOfBroker(text: string): BrokerAddress | undefined {
  const url = URL.parse(text)
  if (!url || !/^mqtts?:$/.test(url.protocol) || url.hostname === '' || url.port === '0') return undefined
  if (!/^\/?$/.test(url.pathname) || url.username + url.password + url.search + url.hash !== '') return undefined
  const isSecure = url.protocol === 'mqtts:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, port: Number(url.port || (isSecure ? 8883 : 1883)), isSecure }
}

/** What is wrong with an address. The text is not quoted: somebody may have written a password into it. */
export function urlSentence(value: unknown): Sentence {
  if (value === '' || addressOfBroker(String(value))) return undefined
  return `it is no address of a broker: expected ${URL_FORM}; the account is set by username and password_file`
}

/** What is wrong with what is to stand before all topics: no wildcard, no empty level, nothing reserved. @source MQTT 3.1.1, 4.7 */
export function prefixSentence(value: unknown): Sentence {
  const text = String(value)
  const isTopic = text !== '' && !/[+#\p{C}]|^[$/]|\/\/|\/$/u.test(text)
  return isTopic ? undefined : 'it is no beginning of a topic: it takes no +, no #, no empty part and no $ at the front'
}
