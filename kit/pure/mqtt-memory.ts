/** What an outlet to an MQTT broker may hold, as rows of a daemon's memory plan. */
import { KERNEL_BYTES, KIB, type MemoryRow } from './memory-plan.ts'

/**
 * A topic with its name, and what its next message is made of. @source measured: 0.4 KiB, and 1.1 KiB for the point of a
 * gateway
 */
const TOPIC_BYTES = 2 * KIB

/** An event that waits for the broker, without its text. @source measured: 0.2 KiB */
const EVENT_TEXT_BYTES = 256

/** A connection with TLS, mostly OpenSSL's memory. @source measured: 130 KiB */
const TLS_BYTES = 144 * KIB

/** One message that the broker has not acknowledged: its packet, and the text that it was made of. */
const PACKET_BYTES = 8 * KIB

export function mqttRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'topics at the MQTT broker', of: 'topic', each: TOPIC_BYTES, many: 'mqtt.topics', isHeap: true },
      shownBy: 'kit/test/pure/mqtt-outlet.test.ts',
    },
    {
      // Text with letters that are not Latin takes two bytes a character.
      ...{ what: 'events that wait for the MQTT broker', of: 'event', each: EVENT_TEXT_BYTES, isHeap: true },
      all: (setting) => 2 * setting('mqtt.queue_bytes') + setting('mqtt.queue') * EVENT_TEXT_BYTES,
      shownBy: 'kit/test/pure/mqtt-outlet.test.ts',
    },
    {
      what: 'the connection to the MQTT broker, with TLS, packets and buffers of the kernel',
      all: (setting) =>
        TLS_BYTES + KERNEL_BYTES + 2 * setting('mqtt.packet_bytes') + setting('mqtt.in_flight') * PACKET_BYTES,
      shownBy: 'kit/test/net/mqtt/outlet.test.ts',
    },
  ]
}
