import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { VolumeDesk } from '../../core/volume.ts'

function deskHere(record = { volume_db: 0, mute: false }) {
  const clock = fakeClock()
  const gains: number[] = []
  const saved: { at: number; volume_db: number; mute: boolean }[] = []
  const disk = { refuses: false }
  const desk = new VolumeDesk({
    clock,
    log: silentLog,
    times: { quietMs: 2000, mostMs: 10_000 },
    record,
    async save(value) {
      if (disk.refuses) throw new Error('the disk is full')
      saved.push({ at: clock.monotonicMs(), ...value })
    },
    apply: (gain) => void gains.push(gain),
    onChange() {},
  })
  return { clock, desk, disk, gains, saved }
}

t.test('B.volume volume and volume_db are two views of one value', async (t) => {
  const { desk } = deskHere()
  t.same(desk.view, { volume: 74, volume_db: 0, mute: false })
  t.same(desk.change('volume', { volume: '50' }), { volume: 50, volume_db: -20.53, mute: false })
  t.same(desk.change('volume_db', { volume_db: '-12.5' }), { volume: 59, volume_db: -12.5, mute: false })
  t.same(
    desk.change('volume', { volume: '59' }),
    { volume: 59, volume_db: -12.5, mute: false },
    'the value shown is not a change',
  )
  t.same(desk.change('volume', { volume: '0', mute: '1' }), { volume: 0, volume_db: -80, mute: true })
})

t.test('B.volume a new value is heard at once; silence and mute are 0', async (t) => {
  const { desk, gains } = deskHere()
  desk.change('volume_db', { volume_db: '-6' })
  desk.change('mute', { mute: 'toggle' })
  desk.change('mute', { mute: '0' })
  desk.change('volume', { volume: '0' })
  t.same(gains, [10 ** (-6 / 20), 0, 10 ** (-6 / 20), 0])
  desk.change('volume', { volume: '0' })
  t.equal(gains.length, 4, 'an unchanged value is not set again')
})

t.test('B.mute mute takes 1, 0 and toggle, and leaves the volume', async (t) => {
  const { desk } = deskHere({ volume_db: -30, mute: false })
  const mutes = ['toggle', 'toggle', '1', '1', '0', 'on', 'false'].map((mute) => desk.change('mute', { mute }).mute)
  t.same(mutes, [true, false, true, true, false, true, false])
  t.equal(desk.view.volume_db, -30)
})

t.test('B.volume all invalid fields are refused by name at once, and nothing changes', async (t) => {
  const { desk, gains } = deskHere()
  const refused = (path: 'volume' | 'volume_db' | 'mute', given: Record<string, string>) => {
    try {
      desk.change(path, given)
      return undefined
    } catch (fault) {
      const { code, details } = fault as { code: string; details: { fields: { field: string; message: string }[] } }
      return [code, ...details.fields.map(({ field, message }) => `${field}: ${message}`)]
    }
  }
  t.same(refused('volume', { volume: '101', mute: 'perhaps' }), [
    'bad_fields',
    'volume: 101 is too high. Use 0 to 100.',
    'mute: "perhaps" is none of 1, 0 and toggle.',
  ])
  t.match(refused('volume', {}), ['bad_fields', /volume: Nothing is sent/])
  t.match(refused('volume_db', {}), ['bad_fields', /volume_db: Nothing is sent/])
  t.match(refused('mute', {}), ['bad_fields', /mute: Nothing is sent/])
  t.match(refused('mute', { mute: '' }), ['bad_fields', /none of 1, 0 and toggle/])
  t.match(refused('volume', { volume_db: '-3' }), [
    'bad_fields',
    /volume_db: There is no such field. Do you mean volume/,
  ])
  t.match(refused('volume_db', { volume_db: '-81' }), ['bad_fields', /too low. Use -80 to 12 dB/])
  t.match(refused('volume_db', { volume_db: '12.5' }), ['bad_fields', /too high/])
  t.match(refused('volume', { volume: '1e1' }), ['bad_fields', /not a number/])
  t.match(refused('volume', { volume: '12.5' }), ['bad_fields', /whole number/])
  t.match(refused('volume', { volume: '' }), ['bad_fields', /empty/])
  t.same(gains, [])
  t.same(desk.view, { volume: 74, volume_db: 0, mute: false })
})

t.test('B.limits volume is saved 2 s after the last change', async (t) => {
  const { clock, desk, saved } = deskHere()
  desk.change('volume', { volume: '10' })
  await clock.run(1500)
  desk.change('volume', { volume: '20' })
  await clock.run(1999)
  t.same(saved, [])
  await clock.run(1)
  t.same(saved, [{ at: 3500, volume_db: -53.83, mute: false }])
  await clock.run(60_000)
  t.equal(saved.length, 1)
})

t.test('while changes continue it is saved every 10 s', async (t) => {
  const { clock, desk, saved } = deskHere()
  for (let step = 0; step < 50; step++) {
    desk.change('volume', { volume: String(step) })
    await clock.run(500)
  }
  await clock.run(5000)
  t.same(
    saved.map(({ at }) => at),
    [10_000, 20_000, 26_500],
  )
})

t.test('an unsaved value is saved when the board stops, a saved one is not', async (t) => {
  const { clock, desk, saved } = deskHere()
  desk.change('mute', { mute: '1' })
  await desk.close()
  t.same(saved, [{ at: 0, volume_db: 0, mute: true }])
  await desk.close()
  await clock.run(60_000)
  t.equal(saved.length, 1)
})

t.test('a failed save is repeated when the board stops', async (t) => {
  const { clock, desk, disk, saved } = deskHere()
  disk.refuses = true
  desk.change('volume', { volume: '10' })
  await clock.run(2000)
  disk.refuses = false
  await desk.close()
  t.match(saved, [{ volume_db: -66.55 }])
})
