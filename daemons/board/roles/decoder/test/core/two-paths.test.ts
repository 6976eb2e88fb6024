/** A stream of two paths (ST 2022-7) of which one is missing, at first or later: core/tuner.ts. */
import t from 'tap'
import { decoderRig, heardStream } from './decoder-rig.ts'

async function startedRig() {
  const rig = decoderRig()
  await rig.decoder.start()
  return rig
}

const SECOND_PATH = { mcast: '239.70.10.4', port: 5004, source: '10.21.4.12' }

for (const [which, paths, sender] of [
  ['first', [{ sender: null }, {}], SECOND_PATH.source],
  ['second', [{}, { sender: null }], '10.20.4.12'],
] as const)
  t.test(
    `ST 2022-7 without its ${which} path, and no longer announced, a stream of two is heard by the other`,
    async (t) => {
      const rig = await startedRig()
      rig.streams.push(heardStream({ encoding: 'L16', dup: SECOND_PATH }))
      await rig.play()
      rig.receiver().stats = { ...rig.receiver().stats, transitMs: 1 }
      await rig.hear('10.20.4.12', [{}, { sender: SECOND_PATH.source }])
      await rig.hear(sender, [...paths])
      rig.streams.pop()
      for (let second = 0; second < 30; second++) await rig.hear(sender, [...paths])
      t.equal(rig.receivers.length, 1)
      t.equal(rig.output.listensTo, 1)
      t.equal(rig.decoder.tuner.sender, sender)
      t.match(rig.receiver().tuning, { encoding: 'L16', paths: [{ group: '239.69.10.4' }, { group: '239.70.10.4' }] })
    },
  )

t.test('ST 2022-7 a path whose network comes later is heard as well', async (t) => {
  const rig = await startedRig()
  rig.streams.push(heardStream({ dup: SECOND_PATH }))
  await rig.play()
  await rig.hear('10.20.4.12', [{}, { packets: 0, sender: null }])
  t.equal(rig.receivers.length, 1)
  rig.receiver().hasNewPath = true
  await rig.clock.run(250)
  t.equal(rig.receivers.length, 2)
  t.match(rig.receivers, [{ tuning: { paths: [{}, {}] } }, { tuning: { paths: [{}, {}] } }])
  for (let second = 0; second < 12; second++) await rig.hear('10.20.4.12', [{}, { sender: SECOND_PATH.source }])
  t.equal(rig.receivers.length, 2, 'once')
})

t.test('ST 2022-7 a path without packets is reported while the other carries the sound', async (t) => {
  const rig = await startedRig()
  rig.streams.push(heardStream({ dup: SECOND_PATH }))
  await rig.play()
  await rig.hear('10.20.4.12', [{}, { sender: SECOND_PATH.source }])
  t.same(rig.trouble(), [])
  for (let look = 0; look < 12; look++) {
    const { stats } = rig.receiver()
    const [first, second] = stats.paths
    if (!first || !second) throw new Error('there are not two paths')
    rig.receiver().stats = { ...stats, paths: [{ ...first, packets: first.packets + 250 }, second] }
    await rig.clock.run(250)
  }
  t.same(rig.trouble(), ['packets warn one_path'])
  t.match(
    rig.decoder.checks().find(({ name }) => name === 'packets')?.text,
    /^Nothing comes to 239\.70\.10\.4:5004, for 3 s/,
  )
  await rig.hear('10.20.4.12', [{}, { sender: SECOND_PATH.source }])
  t.same(rig.trouble(), [])
})
