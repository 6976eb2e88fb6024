/**
 * The role as installed, between two kernels: the package under systemd on the board, Debian's own usbip command and
 * the board's script on the host.
 */
import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { checkout } from '../../../../../scripts/vm/guest.ts'
import { BOARD_ADDRESS, HOST_ADDRESS, type Lab, startLab } from '../../../../../scripts/vm/lab.ts'

/** The host's second address. */
const STRANGER_ADDRESS = '192.0.2.66'
const DISK = '46f4:0001:LAB-DISK'
const ADAPTER = '0403:6001'
/** Seconds for which a host that was sent away is held off; the default is a minute. */
const HOLD_S = 20
/** Milliseconds for a program to start on a busy emulated processor. */
const SLOW_MS = 180_000

const packages = globSync('build/plantroom{-runtime,}_*_amd64.deb', { cwd: checkout })
if (packages.length !== 2) throw new Error('there are not two packages to test: make clean deb')

const lab: Lab = await startLab(join(checkout, 'build'))
const { board, host } = lab
t.teardown(() => lab.stop())
t.afterEach(async (t) => {
  if (t.passing()) return
  const units = '--boot --output short-monotonic --no-pager --lines 40 --unit'
  for (const [guest, of] of [
    [board, 'plantroom-board --unit plantroom-helper'],
    [host, "'plantroom-usbip*'"],
  ] as const)
    console.error(await guest.run(`journalctl ${units} ${of}; dmesg | tail -n 15`).then(({ out }) => out, String))
})

/** Calls the board from its own machine, as a person would. */
async function ask(path: string, form = ''): Promise<string> {
  return await board.must(
    `curl -sS --fail-with-body --max-time 60 ${form && `-d '${form}'`} http://127.0.0.1${path}`,
    SLOW_MS,
  )
}

/** The part of GET /api/usbip used here. */
interface Sharing {
  supported: boolean
  text: string
  device: { busid: string; key: string; state: string; serial: string | null } | null
  attached: { address: string; since_at: number } | null
  traffic: { in_bytes: number; out_bytes: number } | null
  hold_until: number | null
}

const sharing = async (): Promise<Sharing> => JSON.parse(await ask('/api/usbip'))

/** Polls until it holds. Rejects with the last state. */
async function until<T>(look: () => Promise<T>, holds: (seen: T) => boolean, timeoutMs: number): Promise<T> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (holds(seen)) return seen
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${JSON.stringify(seen)}`)
  }
}

/** Changes what is shared, and waits until it is offered. @returns its bus id */
async function share(device: string, allow = ''): Promise<string> {
  await ask('/api/usbip', `enabled=1&device=${device}&allow=${allow}`)
  const { device: shared } = await until(sharing, (now) => now.device?.state === 'exported', SLOW_MS)
  if (!shared) throw new Error('nothing is shared')
  return shared.busid
}

/**
 * Seconds from the start of `command` until the board's kernel has released the host; -1 if it has not within `mostS`.
 * Fails if no host has the device to begin with.
 */
const freedAfterS = (busid: string, mostS: number, command = 'true') => `python3 - <<'LOOK'
import subprocess, time
def used(): return open('/sys/bus/usb/devices/${busid}/usbip_status').read().strip() == '2'
assert used()
begun = time.monotonic()
asked = subprocess.Popen(["/bin/sh", "-c", "${command}"])
while used() and time.monotonic() - begun < ${mostS}: time.sleep(0.02)
print(-1 if used() else round(time.monotonic() - begun, 2))
asked.wait()
LOOK
`

const attach = (busid: string) => `usbip attach --remote=${BOARD_ADDRESS} --busid=${busid}`
const detachAll = `for p in $(sed -n 's/^.s *\\([0-9]*\\) 006 .*/\\1/p' /sys/devices/platform/vhci_hcd.0/status); do usbip detach --port=$((10#$p)); done`
/** A stranger only by its route. */
const asStranger = (script: string) =>
  `ip route change 192.0.2.0/24 dev eth0 src ${STRANGER_ADDRESS}; (${script}); code=$?
   ip route change 192.0.2.0/24 dev eth0 src ${HOST_ADDRESS}; exit $code`

t.test('the package is installed, and the board runs in its role', async (t) => {
  await board.must(
    `dpkg --install ${packages.map((one) => `/host/${basename(one)}`).join(' ')} && systemctl disable --now plantroom-gateway`,
    SLOW_MS,
  )
  await board.must(
    `printf '[board]\\nrole = "usbip"\\n[usbip]\\nhold_ms = ${HOLD_S * 1000}\\n' >/etc/plantroom/board.toml`,
  )
  await board.must('systemctl enable --now plantroom-board', SLOW_MS)
  const now = await until(sharing, (seen) => seen.supported, SLOW_MS)
  t.equal(now.supported, true)
  t.equal(await board.must('systemctl is-active plantroom-board plantroom-helper.socket'), 'active\nactive')
  t.not(await board.must('stat --format %U /proc/$(systemctl show --value --property MainPID plantroom-board)'), 'root')
})

t.test('B.usbip the script of the board, through a pipe, installs the client and attaches the disk', async (t) => {
  await share(DISK)
  await host.must('apt-get -qq update')
  const said = await host.must(`curl -fsS http://${BOARD_ADDRESS}/usbip.sh | sh -s -- install`, SLOW_MS)
  t.match(said, /^installing usbip$/m)
  t.match(said, /^attached: [0-9.-]+ of the board is .*serial number LAB-DISK/m)
  await host.must('udevadm wait --timeout=60 /dev/sda', SLOW_MS)
  t.equal(await host.must('sha256sum </dev/sda', SLOW_MS), `${lab.diskSha256}  -`)
  const { attached, traffic } = await sharing()
  t.equal(attached?.address, HOST_ADDRESS)
  t.ok(traffic && traffic.out_bytes > 8 * 1024 * 1024, `${traffic?.out_bytes} bytes went out`)
})

t.test('B.usbip the script has the disk again after a power cut of the board', async (t) => {
  await board.cutPower()
  const since = performance.now()
  const { attached } = await until(sharing, (now) => now.attached !== null, SLOW_MS)
  t.equal(attached?.address, HOST_ADDRESS)
  t.comment(`attached ${((performance.now() - since) / 1000).toFixed(1)} s after the board had started`)
  await host.must('udevadm wait --timeout=60 /dev/sda', SLOW_MS)
  t.equal(await host.must('sha256sum </dev/sda', SLOW_MS), `${lab.diskSha256}  -`)
})

t.test('B.usbip the script has the disk again after a power cut of the host', async (t) => {
  await host.cutPower()
  await host.must('udevadm wait --timeout=60 /dev/sda', SLOW_MS)
  t.equal(await host.must('sha256sum </dev/sda', SLOW_MS), `${lab.diskSha256}  -`)
  t.match(await host.must(`curl -fsS http://${BOARD_ADDRESS}/usbip.sh | sh -s -- status`), /^attached: .*LAB-DISK/m)
})

t.test('B.usbip the script stays away while it is held off, and comes back', async (t) => {
  await ask('/api/usbip', 'detach=1')
  t.equal((await sharing()).attached, null)
  const { hold_until: holdUntil } = await sharing()
  t.ok(holdUntil !== null)
  const { attached } = await until(sharing, (now) => now.attached !== null, SLOW_MS)
  t.ok(attached && holdUntil !== null && attached.since_at >= holdUntil, 'not before the time is over')
})

t.test('B.usbip the script removes what it has set up', async (t) => {
  const tool = `/usr/local/lib/plantroom/plantroom-usbip-${BOARD_ADDRESS}`
  await host.must(`${tool} remove`)
  const left =
    'ls -d /etc/systemd/system/plantroom* /usr/local/lib/plantroom* /etc/modules-load.d/plantroom* 2>/dev/null'
  t.equal((await host.run(left)).out, '')
  await until(sharing, (now) => now.attached === null, SLOW_MS)
})

t.test('B.usbip a stranger is sent away before a byte, and others get the disk', async (t) => {
  await host.must(`ip address add ${STRANGER_ADDRESS}/24 dev eth0 noprefixroute`)
  const busid = await share(DISK, HOST_ADDRESS)
  const silent = `python3 -c "
import socket
s = socket.create_connection(('${BOARD_ADDRESS}', 3240), 10, ('${STRANGER_ADDRESS}', 0)); s.settimeout(10)
try: print('ended with', len(s.recv(100)), 'bytes')
except ConnectionResetError: print('ended with 0 bytes')"`
  t.equal(await host.must(silent), 'ended with 0 bytes', 'without having asked for anything')
  t.not((await host.run(asStranger(attach(busid)))).code, 0)
  t.equal((await sharing()).attached, null)
  t.equal((await host.run(attach(busid))).code, 0)
  t.equal((await sharing()).attached?.address, HOST_ADDRESS)
})

t.test('B.usbip a second host is told that the disk is in use, and the first keeps it', async (t) => {
  const { device } = await sharing()
  await ask('/api/usbip', `allow=192.0.2.0/24`)
  const second = await host.run(asStranger(attach(device?.busid ?? '')))
  t.not(second.code, 0)
  t.match(second.out, /busy/i)
  t.equal((await sharing()).attached?.address, HOST_ADDRESS)
  t.equal(await host.must('sha256sum </dev/sda', SLOW_MS), `${lab.diskSha256}  -`)
})

t.test('B.usbip detach=1 frees the disk within two seconds', async (t) => {
  const { device } = await sharing()
  const post = 'curl -sS --fail-with-body -o /dev/null -d detach=1 http://127.0.0.1/api/usbip'
  const took = Number(await board.must(freedAfterS(device?.busid ?? '', 10, post)))
  t.comment(`freed after ${took} s`)
  t.ok(took >= 0 && took < 2, `${took} s`)
  t.not((await host.run(attach(device?.busid ?? ''))).code, 0, 'and the host is held off')
})

t.test('B.usbip a pulled cable frees the disk within twelve seconds', async (t) => {
  const { device } = await until(sharing, (now) => now.hold_until === null, SLOW_MS)
  const busid = device?.busid ?? ''
  await host.must(attach(busid))
  await host.must('udevadm wait --timeout=60 /dev/sda', SLOW_MS)
  await board.plugCable(false)
  const took = Number(await board.must(freedAfterS(busid, 20)))
  await board.plugCable(true)
  t.comment(`freed after ${took} s`)
  t.ok(took > 0 && took < 12, `${took} s`)
  await host.must(`for i in $(seq 50); do ping -c 1 -W 1 ${BOARD_ADDRESS} && exit; sleep 0.1; done; exit 1`)
  await host.run(detachAll)
})

const echo = `import serial
s = serial.Serial('/dev/ttyUSB0', 115200, timeout=10)
s.write(bytes(range(256))); print(s.read(256) == bytes(range(256)))`

t.test(
  'B.usbip a serial adapter echoes every byte, is pulled out, and is offered again when it comes back',
  async (t) => {
    await host.must('modprobe ftdi_sio')
    for (const round of ['first', 'again']) {
      const busid = await share(ADAPTER)
      await host.must(attach(busid))
      await host.must('udevadm wait --timeout=60 /dev/ttyUSB0', SLOW_MS)
      t.equal(await host.must(`python3 -c "${echo}"`), 'True', round)
      if (round === 'again') continue
      await lab.unplugAdapter()
      await host.must('udevadm wait --removed --timeout=60 /dev/ttyUSB0', SLOW_MS)
      await until(sharing, (now) => now.device === null, SLOW_MS)
      await lab.plugAdapter()
    }
  },
)

t.test('B.usbip a board that is stopped gives the adapter back to its own machine', async (t) => {
  await board.must('systemctl stop plantroom-board', SLOW_MS)
  t.equal(await board.must('udevadm wait --timeout=60 /dev/ttyUSB0; ls /dev/ttyUSB0', SLOW_MS), '/dev/ttyUSB0')
  await host.must('udevadm wait --removed --timeout=60 /dev/ttyUSB0', SLOW_MS)
})
