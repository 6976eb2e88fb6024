/** The saved settings of the MQTT broker, with the password sealed. */
import { type Static, Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { addressOfBroker, DEFAULT_PREFIX, prefixSentence, urlSentence } from '#kit/net/mqtt/settings.ts'
import { checkTargetHost } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { openSeal } from '#kit/store/sealing.ts'
import { createStore } from '#kit/store/store.ts'
import type { MqttSettings } from '../core/mqtt/mqtt.ts'

const VERSION = 1 as const

const settingsFile = Type.Object(
  {
    ...{ version: Type.Literal(VERSION), isEnabled: Type.Boolean(), url: Type.String(), username: Type.String() },
    ...{ topicPrefix: Type.String(), discoveryPrefix: Type.String() },
    sealedPassword: Type.Union([Type.String(), Type.Null()]),
  },
  { additionalProperties: false },
)

type Saved = Static<typeof settingsFile>

/** A password that does not open is as good as none: nothing of this keeps a recorder from recording. @param folder the state folder */
export async function openMqttSettings(folder: string, log: Log) {
  const seal = await openSeal(folder)
  // Bound to where it is sent: a file with another address in it does not open.
  const boundTo = ({ url, username }: Pick<Saved, 'url' | 'username'>) => `mqtt ${url} ${username}`

  function opened({ sealedPassword, version: _, ...saved }: Saved): MqttSettings {
    try {
      return { ...saved, password: sealedPassword === null ? null : seal.open(sealedPassword, boundTo(saved)) }
    } catch (fault) {
      log.error('the password of the MQTT broker does not open: give it anew', { fault })
      return { ...saved, password: null }
    }
  }

  const initial = (): Saved => ({
    ...{ version: VERSION, isEnabled: false, url: '', username: '', sealedPassword: null },
    ...{ topicPrefix: DEFAULT_PREFIX, discoveryPrefix: 'homeassistant' },
  })
  const store = createStore({ folder, name: 'mqtt-settings', log, check: createReader(settingsFile), initial })
  return {
    settings: opened(await store.load()),
    save({ password, ...next }: MqttSettings): Promise<void> {
      const sealedPassword = password === null ? null : seal.close(password, boundTo(next))
      return store.save({ version: VERSION, ...next, sealedPassword })
    },
  }
}

/** @throws Fault `bad_broker`, `bad_target`, `bad_topic` */
export function checkMqttSettings({ isEnabled, password, topicPrefix, url, username }: MqttSettings): void {
  const wrong = urlSentence(url) ?? (isEnabled && url === '' ? 'it is empty, and MQTT is to be switched on' : undefined)
  if (wrong !== undefined) throw new Fault('bad_broker', `The address of the broker cannot be used: ${wrong}.`)
  // MQTT 3.1.1, 3.1.2.9: a broker ends the connection of a client that sends one.
  if (password !== null && username === '')
    throw new Fault('bad_broker', 'There is a password without a user name, which no broker takes.')
  const host = addressOfBroker(url)?.host
  if (host !== undefined) checkTargetHost(host)
  const odd = prefixSentence(topicPrefix)
  if (odd !== undefined) throw new Fault('bad_topic', `The beginning of the topics cannot be used: ${odd}.`)
}
