/** The bed itself, shown by Debian's own usbipd in the place of ours: what fails here is no fault of the board. */
import t from 'tap'
import { BOARD_ADDRESS, type Lab, startLab } from '../lab.ts'

const lab: Lab = await startLab()
t.teardown(() => lab.stop())

/** The bus id of a device of the board. */
const busidOf = (vendor: string, product: string) =>
  lab.board.must(`for d in /sys/bus/usb/devices/*; do
    [ "$(cat $d/idVendor 2>/dev/null):$(cat $d/idProduct 2>/dev/null)" = ${vendor}:${product} ] && basename $d && exit
  done; exit 1`)

t.test('both systems have started, with nothing failed', async (t) => {
  for (const guest of [lab.board, lab.host]) {
    t.equal(await guest.must('systemctl is-system-running'), 'running', await guest.must('systemctl --failed'))
  }
})

t.test('a command gives its output, its status, and is ended when it takes too long', async (t) => {
  t.same(await lab.host.run('echo out; echo err >&2; exit 3'), { code: 3, out: 'out\nerr' })
  await t.rejects(lab.host.must('exit 4'), /ended with 4/)
  await t.rejects(lab.host.run('sleep 30', 500), /not done after 500 ms/)
})

t.test('a disk and a serial line reach the host through USB/IP', async (t) => {
  for (const guest of [lab.board, lab.host]) await guest.must('apt-get -qq update && apt-get -qq install usbip', 90_000)
  await lab.board.must('modprobe -a usbip-host usb-storage ftdi_sio && usbipd -D')
  await lab.host.must('modprobe -a vhci-hcd usb-storage sd_mod ftdi_sio')
  for (const busid of [await busidOf('46f4', '0001'), await busidOf('0403', '6001')]) {
    await lab.board.must(`usbip bind -b ${busid}`)
    await lab.host.must(`usbip attach -r ${BOARD_ADDRESS} -b ${busid}`)
  }
  await lab.host.must('udevadm wait --timeout=20 /dev/sda /dev/ttyUSB0')
  t.equal(await lab.host.must('sha256sum </dev/sda'), `${lab.diskSha256}  -`)
  const script = `import serial; s = serial.Serial('/dev/ttyUSB0', 115200, timeout=10)
s.write(bytes(range(256))); print(s.read(256) == bytes(range(256)))`
  t.equal(await lab.host.must(`python3 -c "${script}"`), 'True')
})

t.test('an adapter is unplugged and plugged in again', async (t) => {
  await lab.unplugAdapter()
  await lab.host.must('udevadm wait --removed --timeout=20 /dev/ttyUSB0')
  await lab.plugAdapter()
  t.match(
    await lab.board.must('for i in $(seq 100); do [ -e /dev/ttyUSB0 ] && break; sleep 0.1; done; ls /dev/ttyUSB0'),
    'ttyUSB0',
  )
})

t.test('a pulled cable is one that carries nothing', async (t) => {
  const reaches = async () => (await lab.host.run(`ping -c 1 -W 1 ${BOARD_ADDRESS}`)).code === 0
  t.equal(await reaches(), true)
  await lab.board.plugCable(false)
  t.equal(await reaches(), false)
  await lab.board.plugCable(true)
  await lab.host.must(`for i in $(seq 50); do ping -c 1 -W 1 ${BOARD_ADDRESS} && exit; sleep 0.1; done; exit 1`)
})

t.test('a guest whose power is cut starts again with what it had saved', async (t) => {
  const before = await lab.board.bootId()
  await lab.board.must('echo kept >/var/kept; sync')
  await lab.board.cutPower()
  t.not(await lab.board.bootId(), before)
  t.equal(await lab.board.must('cat /var/kept'), 'kept')
})
