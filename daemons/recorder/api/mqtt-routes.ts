/** Routes of the MQTT broker: which one it is, whether it takes what is told, and a test message. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { count, fault, instant, object, orNull, type Route, route, text, yesNo } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { Mqtt } from '../core/mqtt/mqtt.ts'

const mqttAnswer = object({
  enabled: yesNo,
  url: Type.String({ description: 'mqtt://HOST:PORT or mqtts://HOST:PORT; empty: none' }),
  username: text,
  hasPassword: yesNo,
  topicPrefix: Type.String({ description: 'what all topics begin with; {id} stands for the id of this recorder' }),
  discoveryPrefix: Type.String({ description: 'where Home Assistant is told of cameras; empty: it is not' }),
  /** How the connection is. */
  state: Type.Enum(['off', 'closed', 'connecting', 'connected', 'waiting'], {
    description: 'off: nothing is told; waiting: the broker is tried again at nextTryAt',
  }),
  prefix: orNull(Type.String({ description: 'what topics begin with, with the id in it' })),
  since: orNull(instant),
  fault: orNull(fault),
  nextTryAt: orNull(instant),
  topics: count,
  due: Type.Integer({ minimum: 0, description: 'topics that are not told yet' }),
  waiting: Type.Integer({ minimum: 0, description: 'messages that wait' }),
  waitingBytes: count,
  published: count,
  dropped: Type.Integer({ minimum: 0, description: 'messages that found no room, the oldest first' }),
  refused: Type.Integer({ minimum: 0, description: 'messages of topics that found no room' }),
})

const NOTHING = {
  ...{ prefix: null, since: null, nextTryAt: null, topics: 0, due: 0 },
  ...{ waiting: 0, waitingBytes: 0, published: 0, dropped: 0, refused: 0 },
}

const body = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean()),
    url: Type.Optional(Type.String({ maxLength: 300 })),
    username: Type.Optional(Type.String({ maxLength: 256, description: 'empty: none' })),
    password: Type.Optional(
      orNull(
        Type.String({
          ...{ minLength: 1, maxLength: 1024, writeOnly: true },
          description: 'left out: stays, unless the broker is another; null: none',
        }),
      ),
    ),
    topicPrefix: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    discoveryPrefix: Type.Optional(Type.String({ maxLength: 128, pattern: '^$|^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$' })),
  },
  { additionalProperties: false },
)

interface MqttRouteParts {
  mqtt: Mqtt
  recorder: Recorder
  clock: Clock
}

export function mqttRoutes({ clock, mqtt, recorder }: MqttRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/mqtt',
      who: 'admin',
      reply: mqttAnswer,
      summary: 'The MQTT broker, and whether it takes what is told',
      handle: () => answerOf(mqtt),
    }),
    route({
      method: 'PUT',
      path: '/api/mqtt',
      who: 'admin',
      reply: mqttAnswer,
      summary: 'Point the recorder at an MQTT broker; what is left out stays',
      body,
      async handle(ask) {
        const { enabled, ...wish } = ask.body
        await mqtt.change({ ...wish, ...(enabled !== undefined && { isEnabled: enabled }) })
        const { password, ...said } = ask.body
        const ofPassword = password === undefined ? {} : { password: password === null ? 'removed' : 'changed' }
        await recorder.changed(ask, 'MQTT changed', 'mqtt', { ...said, ...ofPassword })
        return answerOf(mqtt)
      },
    }),
    route({
      method: 'POST',
      path: '/api/mqtt/test',
      who: 'admin',
      reply: object({ topic: text, tookMs: count }),
      summary: 'Send a message to the MQTT broker and wait until the broker has it',
      async handle(ask) {
        const tested = await mqtt.test(JSON.stringify({ at: clock.epochMs() }))
        await recorder.changed(ask, 'MQTT tested', tested.topic)
        return tested
      },
    }),
  ]
}

function answerOf(mqtt: Mqtt) {
  const { discoveryPrefix, isEnabled, password, topicPrefix, url, username } = mqtt.settings()
  const said = { enabled: isEnabled, url, username, hasPassword: password !== null, topicPrefix, discoveryPrefix }
  const outlet = mqtt.outlet()
  if (outlet) return { ...said, prefix: outlet.prefix, ...outlet.view() }
  const broken = mqtt.fault()
  return { ...said, ...NOTHING, state: 'off', fault: broken ? { code: broken.code, message: broken.message } : null }
}
