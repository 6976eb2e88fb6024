/**
 * The card in an emulated Raspberry Pi 3, and then in a board with a UEFI of its own: both start the slot that GRUB
 * chooses, and count its starts in one place. The first stage of a Pi is not emulated, so nobody loads that of the card.
 * It goes as far as the kernel: QEMU takes the start of a Pi's watchdog, which systemd asks for, for a restart.
 */
import t from 'tap'
import { openBed } from '../emulated-board.ts'

/** What a kernel says first, even if it is told to be quiet. */
const KERNEL = /\[ +\d+\.\d{6}\] /

const bed = openBed()
t.teardown(() => bed.close())

t.test('a Raspberry Pi 3 comes to the kernel in the slot by U-Boot and GRUB', { timeout: 900_000 }, async (t) => {
  const first = await bed.powerOn({ kind: 'pi3' })
  await first.told('Loading Environment from FAT... OK')
  await first.told('slot A: A ok=1 left=2')
  await first.told(KERNEL)
  t.notMatch(first.console(), 'Hit any key', 'nothing on its serial line stops it')
  await first.cut()
})

t.test('a board with UEFI goes on from there with the same card', { timeout: 900_000 }, async () => {
  const other = await bed.powerOn({})
  await other.told('slot A: A ok=1 left=1')
  await other.cut()
})
