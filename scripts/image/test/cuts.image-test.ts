/** The power of a board is cut while it installs an update, at moments that chance chooses. */
import { randomInt } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { checkout } from '../../vm/guest.ts'
import { openBed } from '../emulated-board.ts'

/** How often the power is cut. */
const CUTS = 10
/** An installation, and the minute in which a system shows that it is good, ms. */
const INSTALL_MS = 900_000
const GOOD_MS = 600_000
const BUNDLE = '/data/ota/cut.raucb'

const bed = openBed()
t.teardown(() => bed.close())

t.test(
  `cut ${CUTS} times during an installation, it always starts a whole system`,
  { timeout: 5_000_000 },
  async (t) => {
    const first = await bed.powerOn({})
    await first.answers()
    await first.until('systemctl show --property=ActiveState --value plantroom-slot | grep -qx inactive', GOOD_MS)
    await first.must(`cat >${BUNDLE} && sync`, INSTALL_MS, join(checkout, 'build/image/test/v2.raucb'))
    // Each cut begins from here: the board runs, and its memory and its card are as they were.
    t.equal(await first.monitor('savevm ready'), '')
    const beganMs = performance.now()
    await first.must(`rauc install ${BUNDLE}`, INSTALL_MS)
    const installMs = performance.now() - beganMs
    t.comment(`an installation takes ${Math.round(installMs / 1000)} s`)
    await first.cut()

    for (let cut = 1; cut <= CUTS; cut += 1) {
      const disk = join(bed.folder, 'cut.qcow2')
      copyFileSync(bed.disk, disk)
      const running = await bed.powerOn({ disk, from: 'ready' })
      await running.until('true')
      const installing = running.run(`rauc install ${BUNDLE}`, INSTALL_MS)
      // A little longer than it takes: the moments behind the last byte count too.
      const afterMs = randomInt(Math.ceil(installMs * 1.05))
      await sleep(afterMs)
      await running.cut()
      await installing
      const again = await bed.powerOn({ disk })
      await again.until('true')
      const state = await again.must('/usr/lib/plantroom-image/boot-state show')
      const slot = await again.must('/usr/lib/plantroom-image/boot-state get-current')
      const what = `cut after ${Math.round(afterMs / 100) / 10} s: slot ${slot} runs, ${state.replaceAll('\n', ' ')}`
      t.ok(new RegExp(`^${slot}_OK=1$`, 'm').test(state), what)
      t.match(state, /^A_OK=1\nA_LEFT=[23]$/m, 'and the old system is a good one, whichever runs')
      t.equal(await again.must('cat /etc/hostname'), 'plantroom-00001234')
      await again.cut()
    }
  },
)
