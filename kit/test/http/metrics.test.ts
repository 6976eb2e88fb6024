/** Tests of http/metrics.ts. */
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { createMetrics } from '../../http/metrics.ts'

t.test('counts, reads gauges when asked, and keeps two registries apart', async (t) => {
  const metrics = createMetrics({ process: false })
  const other = createMetrics({ process: false })
  const frames = metrics.counter({ name: 'frames_total', help: 'Frames', labels: ['port'] })
  other.counter({ name: 'frames_total', help: 'Frames', labels: ['port'] })
  frames.add({ port: '/dev/ttyUSB0' })
  frames.add({ port: '/dev/ttyUSB0' }, 2)
  let queued = 3
  metrics.gauge({ name: 'queue_length', help: 'Waiting' }, () => [{ labels: {}, value: queued }])
  t.match(await metrics.text(), /plantroom_frames_total\{port="\/dev\/ttyUSB0"\} 3/)
  queued = 5
  t.match(await metrics.text(), /plantroom_queue_length 5/)
  t.notMatch(await other.text(), /ttyUSB0/)
})

t.test('forgets the labels of removed things', async (t) => {
  const metrics = createMetrics({ process: false })
  let ports = ['a', 'b']
  const read = () => ports.map((port) => ({ labels: { port }, value: 7 }))
  metrics.counts({ name: 'bytes_total', help: 'Bytes', labels: ['port'] }, read)
  t.match(await metrics.text(), /bytes_total\{port="a"\} 7/)
  ports = ['b']
  const text = await metrics.text()
  t.notMatch(text, /port="a"/)
  t.match(text, /bytes_total\{port="b"\} 7/)
})

t.test('an unknown gauge is left out, and is there again when it is known', async (t) => {
  const metrics = createMetrics({ process: false })
  let degrees: number | undefined
  const read = () => (degrees === undefined ? [] : [{ labels: {}, value: degrees }])
  metrics.gauge({ name: 'temperature_celsius', help: 'Heat' }, read)
  t.notMatch(await metrics.text(), /^plantroom_temperature_celsius/m)
  degrees = 48.5
  t.match(await metrics.text(), /^plantroom_temperature_celsius 48\.5$/m)
  degrees = undefined
  t.notMatch(await metrics.text(), /^plantroom_temperature_celsius/m)
})

t.test('a gauge with labels can be empty, such as one for ports if there are none', async (t) => {
  const metrics = createMetrics({ process: false })
  metrics.gauge({ name: 'port_open', help: 'Open', labels: ['port'] }, () => [])
  t.notMatch(await metrics.text(), /^plantroom_port_open/m)
})

t.test('includes the process if asked', async (t) => {
  const text = await createMetrics({ process: true }).text()
  t.match(text, /process_resident_memory_bytes \d+/)
  t.match(text, /nodejs_eventloop_lag_seconds/)
})

t.test('tells by how much the event loop was late, not how often it was looked at', async (t) => {
  const metrics = createMetrics({ process: true })
  const lag = async (which: string) =>
    Number(new RegExp(`^nodejs_eventloop_lag_${which}_seconds (.*)$`, 'm').exec(await metrics.text())?.[1])
  let greatest = 0
  while (greatest === 0) {
    // Blocks the event loop for three looks, unless there has been none before.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 350)
    await setTimeout(20)
    greatest = await lag('max')
  }
  t.ok(greatest > 0.1, `${greatest} s`)
})
