/** Routes of the MQTT outlet: its state, and a test message. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { count, fault, instant, object, orNull, type Route, route, text } from '#kit/http/route.ts'
import type { MqttOutlet } from '#kit/net/mqtt/outlet.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'

const mqttAnswer = object({
  state: Type.Enum(['off', 'closed', 'connecting', 'connected', 'waiting'], {
    description: 'off: no broker is set; waiting: it is tried again at nextTryAt',
  }),
  broker: orNull(Type.String({ description: 'HOST:PORT' })),
  isEncrypted: Type.Boolean(),
  prefix: orNull(Type.String({ description: 'what all topics begin with' })),
  since: orNull(instant),
  fault: orNull(fault),
  nextTryAt: orNull(instant),
  topics: count,
  due: Type.Integer({ minimum: 0, description: 'topics that are not told yet' }),
  waiting: Type.Integer({ minimum: 0, description: 'events that wait' }),
  waitingBytes: count,
  published: count,
  dropped: Type.Integer({ minimum: 0, description: 'events that found no room' }),
  refused: Type.Integer({ minimum: 0, description: 'messages of topics that found no room' }),
})

const nothing = {
  ...{ state: 'off', broker: null, isEncrypted: false, prefix: null, since: null, fault: null, nextTryAt: null },
  ...{ topics: 0, due: 0, waiting: 0, waitingBytes: 0, published: 0, dropped: 0, refused: 0 },
} as const

const testAnswer = object({ topic: text, tookMs: count })

interface MqttRouteParts {
  outlet: MqttOutlet | undefined
  recorder: Recorder
  clock: Clock
}

export function mqttRoutes({ clock, outlet, recorder }: MqttRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/mqtt',
      who: 'user',
      reply: mqttAnswer,
      summary: 'State of the connection to the MQTT broker',
      handle: () =>
        outlet
          ? { broker: outlet.broker, isEncrypted: outlet.isSecure, prefix: outlet.prefix, ...outlet.view() }
          : nothing,
    }),
    route({
      method: 'POST',
      path: '/api/mqtt/test',
      who: 'admin',
      reply: testAnswer,
      summary: 'Send a message to the MQTT broker and wait until the broker has it',
      async handle(ask) {
        if (!outlet) throw new Fault('mqtt_off', 'No MQTT broker is set: write its address to mqtt.url, and restart.')
        const topic = `${outlet.prefix}/test`
        const { tookMs } = await outlet.test(topic, JSON.stringify({ timestamp: clock.epochMs() }))
        await recorder.changed(ask, 'MQTT tested', topic)
        return { topic, tookMs }
      },
    }),
  ]
}
