/**
 * Real sound cards, in a guest with its own kernel: sound recorded by one card goes through an encoder, the network and
 * a decoder to another card. The cards are snd-aloop's: sound played at one end of a loop is recorded at the other.
 *
 *     aplay -> card In | In -> encoder -> 239.x on lo -> decoder -> Out | card Out -> arecord
 */
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { checkout, guestImage, startGuest } from '../../../scripts/vm/guest.ts'

/** Milliseconds for a program to start on a busy emulated processor. */
const SLOW_MS = 180_000
/** Allows for the delays of an emulated machine. */
const LINK_MS = 400
const FILL_MS = 500
const CLIP_S = 3
/** Before and after the clip: for the buffers, and the start of programs. */
const AROUND_S = 5
/** An emulated machine on a busy host stalls longer than any buffer lasts; the clip is then played again. */
const MOST_TRIES = 8
const ENCODER = 'http://127.0.0.1:8081'
const DECODER = 'http://127.0.0.1'

const packages = globSync('build/plantroom{-runtime,}_*_amd64.deb', { cwd: checkout })
if (packages.length !== 2) throw new Error('there are not two packages to test: make clean deb')

const lent = mkdtempSync(join(checkout, 'build/lent-'))
t.teardown(() => rmSync(lent, { recursive: true, force: true }))
writeFileSync(join(lent, 'look.py'), lookScript())
writeFileSync(join(lent, 'encoder.toml'), settingsOf('encoder', 'source = "hw:CARD=In,DEV=1"', ':8081'))
writeFileSync(join(lent, 'decoder.toml'), settingsOf('decoder', 'sink = "hw:CARD=Out,DEV=0"', ':80'))

const guest = await startGuest(guestImage(checkout), {
  name: 'sound',
  lends: join(checkout, 'build'),
  memoryMb: 768,
  // Both boards move sound every millisecond: a single emulated processor would do nothing else.
  processors: 2,
})
t.teardown(() => guest.stop())
t.afterEach(async (t) => {
  if (t.passing()) return
  const script = `journalctl --boot --output short-monotonic --no-pager --lines 30 --unit plantroom-board --unit encoder
    cat /proc/asound/cards; curl -sS ${ENCODER}/api/status ${DECODER}/api/status; tail -n 20 /tmp/*.log; dmesg | tail -n 10`
  console.error(await guest.run(script).then(({ out }) => out, String))
})

/** The cards use the guest's clock, so no resampling is needed: changes of the fill on a busy machine are not drift. */
function settingsOf(role: string, end: string, listen: string): string {
  return `[board]
role = "${role}"
[http]
listen = "0.0.0.0${listen}"
[mdns]
enabled = false
[ptp]
enabled = false
[audio]
${end}
interface = "lo"
card_fill_ms = ${FILL_MS}
card_buffer_ms = 2000
card_most_ppm = 0
card_retry_most_ms = 1000
`
}

/** Runs in the guest: makes a clip of 24-bit noise, and finds it in the recording. */
function lookScript(): string {
  return `import os, sys
what, clip, *rest = sys.argv[1:]
if what == 'noise':
    data = bytearray(os.urandom(48000 * ${CLIP_S} * 8))
    data[0::4] = bytes(len(data) // 4)
    open(clip, 'wb').write(data)
else:
    sent, got = open(clip, 'rb').read(), open(rest[0], 'rb').read()
    at = got.find(sent[:256])
    if at < 0: sys.exit('its beginning is not there')
    wrong = [i for i in range(0, len(sent), 8) if sent[i:i + 8] != got[at + i:at + i + 8]]
    if wrong: sys.exit(f'{len(wrong)} frames differ, from {wrong[0] // 8} on')
    print('equal', len(sent) // 8)
`
}

interface Check {
  name: string
  state: string
  code: string | null
  text: string
}

interface Status {
  verdict: { state: string; text: string }
  encoder?: {
    state: string
    checks: Check[]
    sent: { packets: number; resyncs: number }
    stream: { mcast: string; port: number }
    card: { xruns: number; dropped_frames: number } | null
    restarts: number
  }
  decoder?: {
    checks: Check[]
    playing: boolean
    realtime: { granted: boolean; text: string } | null
    counters: { lost: number; late: number; glitches: number }
    output: { name: string; underruns: number; restarts: number }
  }
}

async function statusOf(board: string): Promise<Status> {
  return JSON.parse(await guest.must(`curl -sS --fail --max-time 60 ${board}/api/status`, SLOW_MS))
}

/** Polls until it holds. Rejects with the last state. */
async function until(board: string, holds: (seen: Status) => boolean): Promise<Status> {
  const end = performance.now() + SLOW_MS
  for (;;) {
    const seen = await statusOf(board).catch((error: unknown) => ({ verdict: { state: 'none', text: String(error) } }))
    if (holds(seen)) return seen
    if (performance.now() > end) throw new Error(`not within ${SLOW_MS} ms: ${JSON.stringify(seen)}`)
    // A poll costs the guest more than a block of sound.
    await sleep(500)
  }
}

/** Both boards' counts of everything that costs samples. */
async function troubles(): Promise<Record<string, number>> {
  const { encoder } = await statusOf(ENCODER)
  const { decoder } = await statusOf(DECODER)
  if (!encoder?.card || !decoder) throw new Error('a board does not play')
  const { lost, late, glitches } = decoder.counters
  const { underruns } = decoder.output
  const { xruns, dropped_frames } = encoder.card
  return { lost, late, glitches, underruns, xruns, dropped_frames, resyncs: encoder.sent.resyncs }
}

const FORMAT = '-q -t raw -f S32_LE -r 48000 -c 2 --buffer-time=900000'
/** Plays the clip into one loop and records the other, from before it to after it. */
const PASS = `cd /tmp; rm -f got; python3 look.py noise clip
  arecord ${FORMAT} -D hw:Out,1 -d ${CLIP_S + AROUND_S} got 2>arecord.log & recording=$!
  sleep 1; aplay ${FORMAT} -D hw:In,0 clip 2>aplay.log; wait $recording; cat aplay.log arecord.log
  python3 look.py find clip got 2>&1`

/**
 * Sends a clip through both cards. If a board or an ALSA program reported trouble with the machine, the clip is sent
 * again; if sound differs without such a report, the board is at fault.
 */
async function passExactly(t: Tap): Promise<void> {
  const tried: string[] = []
  while (tried.length < MOST_TRIES) {
    const before = await troubles()
    const { out } = await guest.run(PASS, SLOW_MS)
    const after = await troubles()
    if (out === `equal ${48_000 * CLIP_S}`) {
      t.pass(`${out} frames`)
      return
    }
    tried.push(`${out}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`)
    t.comment(tried.at(-1) ?? '')
    const isTold = /run!/.test(out) || Object.keys(after).some((name) => after[name] !== before[name])
    if (!isTold) break
  }
  t.fail(tried.join('\n'))
}

type Tap = Pick<typeof t, 'pass' | 'fail' | 'comment'>

t.test('the package is installed, and two boards run beside two cards', async (t) => {
  await guest.must(
    `dpkg --install ${packages.map((one) => `/host/${basename(one)}`).join(' ')} && systemctl disable --now plantroom-gateway
     ip link set lo multicast on
     modprobe snd-aloop index=0,1 enable=1,1 id=In,Out
     cp /host/${basename(lent)}/* /tmp/ && cp /tmp/decoder.toml /etc/plantroom/board.toml
     d=/run/systemd/system/plantroom-board.service.d; mkdir -p $d
     printf '[Service]\\nTimeoutStartSec=${SLOW_MS / 1000}\\nWatchdogSec=120\\n' >$d/slow.conf; systemctl daemon-reload`,
    SLOW_MS,
  )
  await guest.must('systemctl start plantroom-board', SLOW_MS)
  await guest.must(
    `systemd-run --quiet --unit encoder --property LimitRTPRIO=90 \\
       plantroom board --config /tmp/encoder.toml --state /var/lib/encoder`,
    SLOW_MS,
  )
  const { encoder } = await until(ENCODER, ({ encoder }) => (encoder?.sent.packets ?? 0) > 0)
  const form = `mcast=${encoder?.stream.mcast}&port=${encoder?.stream.port}&link_ms=${LINK_MS}`
  await guest.must(`curl -sS --fail-with-body --max-time 60 -d '${form}' ${DECODER}/api/route`, SLOW_MS)
  const { decoder } = await until(DECODER, ({ decoder }) => decoder?.playing === true)
  t.equal(decoder?.output.name, 'Loopback, Loopback PCM')
  t.match(decoder?.realtime, { granted: true })
})

t.test('what one card records another plays, sample for sample', async (t) => {
  await passExactly(t)
})

/** Unbinds the card from its driver, which to the kernel is like unplugging it, and binds it again. */
async function unplug(card: { device: string; board: string; name: string; check: string }, t: CheckedTap) {
  const driver = '/sys/bus/platform/drivers/snd_aloop'
  await guest.must(`echo ${card.device} >${driver}/unbind`, SLOW_MS)
  const gone = await until(card.board, (seen) => faultOf(seen)?.code === 'no_card')
  t.equal(gone.verdict.state, 'fault')
  t.match(gone.verdict.text, card.name)
  t.equal(faultOf(gone)?.name, card.check)
  await guest.must(`echo ${card.device} >${driver}/bind`, SLOW_MS)
  const back = await until(card.board, ({ verdict }) => verdict.state === 'ok' || verdict.state === 'warn')
  const used = back.decoder?.playing ?? back.encoder?.state === 'sending'
  t.equal(used, true, back.verdict.text)
}

type CheckedTap = Pick<typeof t, 'equal' | 'match'>

const faultOf = ({ encoder, decoder }: Status) =>
  (encoder ?? decoder)?.checks.find(({ state }) => state === 'fault' || state === 'warn')

t.test('a card that is played to is unplugged: the fault has its name, and back it plays', async (t) => {
  await unplug({ device: 'snd_aloop.1', board: DECODER, name: 'hw:CARD=Out,DEV=0', check: 'output' }, t)
})

t.test('a card that is recorded from is unplugged: the fault has its name, and back it is heard', async (t) => {
  await unplug({ device: 'snd_aloop.0', board: ENCODER, name: 'hw:CARD=In,DEV=1', check: 'input' }, t)
})
