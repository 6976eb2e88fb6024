/** plantroom slot, on a machine whose boot loader, RAUC and systemd are played. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { type Test, t } from 'tap'
import { slot } from '../slot.ts'
import { runCommand } from './world.ts'

const OF_GRUB = 'ORDER=B A\nA_OK=1\nA_LEFT=1\nB_OK=1\nB_LEFT=1\n'

/** A machine that runs slot B; RAUC knows the version of what it installed there, and not the one that was flashed. */
function machine(t: Test, { runs = 'B', grub = OF_GRUB } = {}) {
  const base = t.testdir()
  const put = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    writeFileSync(join(base, path), text, { mode })
  }
  const rauc = { slots: [{ 'rootfs.1': { bootname: 'B', slot_status: { bundle: { version: '1.5.0' } } } }] }
  put('grub', grub)
  put(
    'usr/lib/plantroom-image/boot-state',
    `#!/bin/sh\ncase $1 in show) cat '${base}/grub' ;; get-current) echo ${runs} ;; *) echo "$@" >>'${base}/asked' ;; esac\n`,
    0o755,
  )
  put('bin/rauc', `#!/bin/sh\necho '${JSON.stringify(rauc)}'\n`, 0o755)
  put('bin/systemctl', '#!/bin/sh\n', 0o755)
  put('etc/os-release', `IMAGE_VERSION=${runs === 'B' ? '1.5.0' : '1.4.2'}\n`)
  const slots = join(base, 'var/lib/plantroom-slots')
  mkdirSync(slots, { recursive: true })
  const env = { ...process.env, PLANTROOM_BASE: base, PATH: `${base}/bin:${process.env.PATH}` }
  return { env, slots, put, asked: () => readFileSync(join(base, 'asked'), 'utf8') }
}

t.test('a slot that is good keeps its version, so that the one that was flashed has one after an update', async (t) => {
  const flashed = machine(t, { runs: 'A' })
  const confirm = ['confirm', '--good-s', '1', '--within-s', '2']
  t.equal((await runCommand(slot, confirm, { env: flashed.env })).code, 0)
  t.match(flashed.asked(), 'confirm A')
  t.equal(readFileSync(join(flashed.slots, 'version-A'), 'utf8'), '1.4.2\n')

  const updated = machine(t)
  const before = await runCommand(slot, ['show', '--json'], { env: updated.env })
  t.match(JSON.parse(before.out), { running: { slot: 'B', version: '1.5.0' }, other: { slot: 'A', version: null } })
  updated.put('var/lib/plantroom-slots/version-A', '1.4.2\n')
  const { out } = await runCommand(slot, [], { env: updated.env, inColours: true })
  t.match(out, '\x1b[32mgood\x1b[0m, starts next\n')
  t.match(stripVTControlCharacters(out), /slot B {2}runs +1\.5\.0 +good, starts next\nslot A +1\.4\.2 +good\n/)
})

t.test('what is no version in the place of one is not told, and RAUC knows better than an older note', async (t) => {
  const { env, put } = machine(t)
  put('var/lib/plantroom-slots/version-A', '\x1b[2Jgood')
  put('var/lib/plantroom-slots/version-B', '0.9.0\n')
  const { out } = await runCommand(slot, ['show', '--json'], { env })
  t.match(JSON.parse(out), { running: { version: '1.5.0' }, other: { version: null } })
})

t.test('a version that is kept already is not written again: a card is worn by what is written', async (t) => {
  const { env, put, slots } = machine(t, { runs: 'A' })
  put('var/lib/plantroom-slots/version-A', '1.4.2')
  await runCommand(slot, ['confirm', '--good-s', '1', '--within-s', '2'], { env })
  t.equal(readFileSync(join(slots, 'version-A'), 'utf8'), '1.4.2', 'without the end of line that writing adds')
})

t.test('a system that has yet to show that it is good is told as on trial, not as good', async (t) => {
  const { env } = machine(t, { grub: OF_GRUB.replace('B_LEFT=1', 'B_LEFT=0') })
  const { out } = await runCommand(slot, [], { env })
  t.match(out, /slot B {2}runs +1\.5\.0 +on trial\nslot A .* good, starts next\n/)
  t.match(JSON.parse((await runCommand(slot, ['--json'], { env })).out).running, { is_good: false, is_on_trial: true })
})

t.test('an update server out of reach is no fault of a new system, a unit of its own is', async (t) => {
  for (const [unit, asked] of [
    ['plantroom-update-timed.service', 'confirm B'],
    ['plantroom-updates.service', 'reboot'],
  ] as const) {
    const { env, put, slots, ...of } = machine(t, { grub: OF_GRUB.replace('B_LEFT=1', 'B_LEFT=0') })
    const said = `case $1 in list-units) echo '${unit} loaded failed failed x' ;; reboot) echo reboot >>'${slots}/../../../asked' ;; esac`
    put('bin/systemctl', `#!/bin/sh\n${said}\n`, 0o755)
    await runCommand(slot, ['confirm', '--good-s', '1', '--within-s', '2'], { env })
    t.match(of.asked(), asked, unit)
  }
})

t.test('switch has the other slot start next, and refuses one that was never whole', async (t) => {
  const whole = machine(t)
  t.match((await runCommand(slot, ['switch'], { env: whole.env })).out, /Slot A starts next, on trial/)
  t.match(whole.asked(), 'set-primary A')
  const broken = machine(t, { grub: OF_GRUB.replace('A_OK=1', 'A_OK=0') })
  const { code, err } = await runCommand(slot, ['switch'], { env: broken.env })
  t.equal(code, 'slot_failed')
  t.match(err, 'holds no whole system')
  t.notOk(
    readdirSync(dirname(dirname(dirname(broken.slots)))).includes('asked'),
    'nothing was asked of the boot loader',
  )
})

t.test('a machine without slots says so', async (t) => {
  const env = { ...process.env, PLANTROOM_BASE: t.testdir() }
  t.match((await runCommand(slot, ['show'], { env })).err, 'it was not flashed with an image')
})
