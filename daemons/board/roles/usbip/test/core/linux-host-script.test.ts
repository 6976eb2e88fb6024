import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { anyText } from '#kit/test/any-text.ts'
import { LINUX_HOST_TOOL, linuxHostScript } from '../../core/linux-host.ts'
import { hostPartsName } from '../../wire/host-script.ts'

const plain = { host: '192.0.2.1', port: 3240, key: '46f4:0001:LAB-DISK' }

/** What would be executed if a quote is missing: makes the file `pwned` in the current folder. */
const HOSTILE = [
  `'; touch pwned; '`,
  '"; touch pwned; "',
  '$(touch pwned)',
  '`touch pwned`',
  '\ntouch pwned\n',
  "'\n)\ntouch pwned\n(\n'",
  '\nEND_OF_PROGRAM\n)\ntouch pwned\n',
  '\\',
  "\\'; touch pwned; \\'",
  '$PATH $HOME * ~ !',
  '\u2018; touch pwned; \u2019',
]

const sh = (script: string, args: string[] = [], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) =>
  spawnSync('sh', ['-s', '--', ...args], { input: script, encoding: 'utf8', timeout: 20_000, ...options })

/** The script as it is after an installation: the program itself, not as text. */
function installedForm(script: string): string {
  const [values = '', rest = ''] = script.split("body=$(\n  cat <<'END_OF_PROGRAM'\n")
  const [program = ''] = rest.split('\nEND_OF_PROGRAM\n')
  return `${values}body=\n${program}\n`
}

const noShellcheck = spawnSync('shellcheck', ['--version']).error ? 'shellcheck is not installed' : false

t.test('B.usbip.sh shellcheck finds nothing in it, nor in what it installs', { skip: noShellcheck }, async (t) => {
  for (const key of [plain.key, null, '1-1.4']) {
    const script = linuxHostScript({ ...plain, key })
    for (const text of [script, installedForm(script)]) {
      const found = spawnSync('shellcheck', ['--shell=sh', '-'], { input: text, encoding: 'utf8' })
      t.equal(found.status, 0, found.stdout)
    }
  }
})

t.test('B.usbip.sh every shell that a host can have parses it', async (t) => {
  const script = linuxHostScript(plain)
  for (const shell of [['dash'], ['bash', '--posix'], ['busybox', 'sh']]) {
    const [file = '', ...args] = shell
    if (spawnSync(file, ['--help']).error) continue
    for (const text of [script, installedForm(script)]) {
      const read = spawnSync(file, [...args, '-n'], { input: text, encoding: 'utf8' })
      t.equal(read.status, 0, `${file}: ${read.stderr}`)
    }
  }
  t.equal(spawnSync('sh', ['-n'], { input: `${script}\nif`, encoding: 'utf8' }).status === 0, false, 'a fault is seen')
})

t.test('B.usbip.sh runs whole through a pipe, and says what it can do', async (t) => {
  const help = sh(linuxHostScript(plain), ['--help'])
  t.equal(help.status, 0, help.stderr)
  for (const word of ['install', 'attach', 'detach', 'status', 'remove', '--device'])
    t.match(help.stdout, new RegExp(`^ .*${word}`, 'm'))
  t.match(help.stdout, 'The board: 192.0.2.1, USB/IP port 3240. Device: 46f4:0001:LAB-DISK.')
})

t.test('B.usbip.sh executes no value, whatever it contains', async (t) => {
  for (const value of HOSTILE) {
    const cwd = t.testdir()
    const script = linuxHostScript({ host: value, port: 3240, key: `46f4:0001:${value}` })
    const help = sh(script, ['--help'], { cwd })
    t.equal(help.status, 0, help.stderr)
    t.ok(help.stdout.includes(`The board: ${value}, USB/IP port 3240. Device: 46f4:0001:${value}.`), value)
    t.notOk(existsSync(join(cwd, 'pwned')), value)
  }
})

t.test('B.usbip.sh any value passes through the shell unchanged', async () => {
  const values = fc.tuple(anyText(), anyText())
  fc.assert(
    fc.property(values, ([host, key]) => {
      const [assignments] = linuxHostScript({ host, port: 3240, key }).split('body=$(')
      const said = sh(`${assignments}printf '%s\\0' "$host" "$port" "$device"`)
      // What UTF-8 cannot hold is replaced on both sides.
      const bytes = (text: string) => Buffer.from(text.split('\0')[0] ?? '').toString()
      return said.stdout === `${bytes(host)}\0${'3240'}\0${bytes(key)}\0`
    }),
    { numRuns: 60 },
  )
})

t.test('B.usbip.sh values in files that it writes are quoted as well', async (t) => {
  const [quoted = ''] = /^quoted\(\) \{\n(?:.*\n)*?\}\n/m.exec(LINUX_HOST_TOOL) ?? []
  t.not(quoted, '')
  for (const value of HOSTILE) {
    const cwd = t.testdir()
    const said = spawnSync(
      'sh',
      ['-c', `${quoted}eval "value=$(quoted "$1")"; printf '%s' "$value"`, 'sh', `<${value}>`],
      {
        encoding: 'utf8',
        cwd,
      },
    )
    t.equal(said.stdout, `<${value}>`)
    t.notOk(existsSync(join(cwd, 'pwned')))
  }
})

t.test('B.usbip.sh names installed files with letters that need no quotes, differently for each board', async (t) => {
  fc.assert(
    fc.property(anyText(), fc.nat(65535), (host, port) =>
      /^plantroom-usbip-[A-Za-z0-9.-]*$/.test(hostPartsName({ host, port, key: null })),
    ),
  )
  t.equal(hostPartsName({ ...plain, host: 'board-7.local' }), 'plantroom-usbip-board-7.local')
  t.equal(hostPartsName({ ...plain, port: 3241 }), 'plantroom-usbip-192.0.2.1-3241')
})

/** A host in a folder: its kernel's files, and a usbip command that records its arguments. */
function fakeHost(
  t: Test,
  { list, attach = 'true', isRoot = true }: { list: string; attach?: string; isRoot?: boolean },
) {
  const root = t.testdir({ bin: {}, ports: { status: '' }, notes: {}, devices: {}, list })
  const header = 'hub port sta spd dev      sockfd local_busid\n'
  writeFileSync(join(root, 'ports/status'), `${header}hs  0000 004 000 00000000 000000 0-0\n`)
  /** A device that the kernel has attached. */
  const plug = (port: number, from: string, local: string, serial: string) => {
    const number = String(port).padStart(4, '0')
    writeFileSync(join(root, 'ports/status'), `${header}hs  ${number} 006 003 00010002 000003 ${local}\n`)
    writeFileSync(join(root, `notes/port${port}`), `${from}\n`)
    mkdirSync(join(root, 'devices', local), { recursive: true })
    writeFileSync(join(root, 'devices', local, 'idVendor'), '46f4\n')
    writeFileSync(join(root, 'devices', local, 'serial'), `${serial}\n`)
  }
  const command = `#!/bin/sh
echo "$*" >>'${root}/asked'
case "$*" in *' list '*) cat '${root}/list' ;; *' attach '*) ${attach.replaceAll('ROOT', root)} ;; esac
`
  for (const [name, text] of [
    ['usbip', command],
    ['id', `#!/bin/sh\necho ${isRoot ? 0 : 1000}\n`],
    ['systemctl', '#!/bin/sh\nexit 1\n'],
  ] as const) {
    writeFileSync(join(root, 'bin', name), text)
    chmodSync(join(root, 'bin', name), 0o755)
  }
  const run = (key: string | null, ...args: string[]) => {
    const script = linuxHostScript({ ...plain, port: 3999, key })
      .replaceAll('/sys/devices/platform/vhci_hcd.0', join(root, 'ports'))
      .replaceAll('/var/run/vhci_hcd', join(root, 'notes'))
      .replaceAll('/sys/bus/usb/devices', join(root, 'devices'))
      .replaceAll('/run/systemd/system', join(root, 'no-systemd'))
    return sh(script, args, { env: { ...process.env, PATH: `${join(root, 'bin')}:${process.env.PATH}` } })
  }
  const asked = () => (existsSync(join(root, 'asked')) ? readFileSync(join(root, 'asked'), 'utf8') : '').split('\n')
  return { run, plug, asked }
}

/** The list as the usbip command prints it, with a product name that pretends to be another device. */
const LIST = `Exportable USB devices
======================
 - 192.0.2.1
        1-1: Evil : 9-9: (46f4:0001) $(x) (dead:beef)
           : /sys/devices/pci0000:00/0000:00:05.0/usb1/1-1
           : (Defined at Interface level) (00/00/00)
           :  0 - Mass Storage / SCSI / Bulk-Only (08/06/50)

      1-1.2: QEMU : unknown product (46f4:0001)
           : /sys/devices/pci0000:00/0000:00:05.0/usb2/2-1
           : (Defined at Interface level) (00/00/00)

`

/** The files that a usbip command leaves behind when it has attached. */
const ATTACHES = (place: string, serial: string) =>
  `{ printf 'hub port sta spd dev sockfd local_busid\\nhs  0000 006 003 00010002 000003 3-1\\n' >ROOT/ports/status
  echo 192.0.2.1 3999 ${place} >ROOT/notes/port0; mkdir -p ROOT/devices/3-1; echo 46f4 >ROOT/devices/3-1/idVendor
  echo '${serial}' >ROOT/devices/3-1/serial; }`

t.test(
  'B.usbip.sh finds the device in the list by vendor and product, and asks at the port of the board',
  async (t) => {
    const host = fakeHost(t, { list: LIST, attach: ATTACHES('1-1.2', 'LAB-DISK') })
    const done = host.run('46f4:0001:LAB-DISK', 'attach')
    t.equal(done.status, 0, done.stderr)
    t.match(done.stdout, 'attached 1-1.2 of 192.0.2.1 (3-1 here)')
    t.same(
      host.asked().filter((line) => !line.startsWith('version')),
      ['--tcp-port 3999 list --remote=192.0.2.1', '--tcp-port 3999 attach --remote=192.0.2.1 --busid=1-1.2', ''],
    )
  },
)

t.test('B.usbip.sh releases a device of the same kind with another serial number', async (t) => {
  const host = fakeHost(t, { list: LIST, attach: ATTACHES('1-1.2', 'OTHER') })
  const done = host.run('46f4:0001:LAB-DISK', 'attach')
  t.equal(done.status, 1)
  t.match(done.stdout, '1-1.2 has another serial number')
  t.equal(host.asked().includes('detach --port=0'), true)
})

t.test(
  'B.usbip.sh recognises a device by its serial number, which makers pad with blanks, as the board does',
  async (t) => {
    for (const serial of ['LAB-DISK  ', '  LAB-DISK', '\tLAB-DISK\u0001 ']) {
      const host = fakeHost(t, { list: LIST, attach: ATTACHES('1-1.2', serial) })
      const done = host.run('46f4:0001:LAB-DISK', 'attach')
      t.match(done.stdout, 'attached 1-1.2 of 192.0.2.1 (3-1 here)', JSON.stringify(serial))
      t.notOk(host.asked().includes('detach --port=0'), JSON.stringify(serial))
    }
  },
)

t.test('B.usbip.sh attaches everything at a place, or every device', async (t) => {
  for (const [key, places] of [
    ['1-1', ['1-1', '1-1.2']],
    ['1-1.2', ['1-1.2']],
    ['1-2', []],
    [null, ['1-1', '1-1.2']],
  ] as const) {
    const host = fakeHost(t, { list: LIST, attach: 'exit 1' })
    host.run(key, 'attach')
    const tried = host.asked().flatMap((line) => / attach .*--busid=(.*)$/.exec(line)?.[1] ?? [])
    t.same(tried, places)
  }
})

t.test('B.usbip.sh attaches a device again that is attached here but free at the board', async (t) => {
  const host = fakeHost(t, { list: LIST, attach: ATTACHES('1-1.2', 'LAB-DISK') })
  host.plug(7, '192.0.2.1 3999 1-1.2', '3-1', 'LAB-DISK')
  const done = host.run('46f4:0001:LAB-DISK', 'attach')
  t.match(done, { status: 0, stdout: /the connection of 1-1\.2 was dead/ })
  const asked = host.asked().filter((line) => / attach |detach/.test(line))
  t.same(asked, ['detach --port=7', '--tcp-port 3999 attach --remote=192.0.2.1 --busid=1-1.2'])
})

t.test('B.usbip.sh passes on the reason for a refusal of the board', async (t) => {
  const host = fakeHost(t, { list: LIST, attach: 'echo "usbip: error: Device busy (exported)"; exit 1' })
  const done = host.run('46f4:0001', 'attach')
  t.equal(done.status, 1)
  t.match(done.stdout, 'the board did not give 1-1.2: usbip: error: Device busy (exported)')
})

t.test('B.usbip.sh distinguishes its own devices from those of other boards', async (t) => {
  const host = fakeHost(t, { list: LIST })
  host.plug(7, '192.0.2.9 3999 1-1.2', '3-1', 'LAB-DISK')
  t.match(host.run(null, 'status'), { status: 1, stdout: /attached: nothing/ })
  host.plug(7, '192.0.2.1 3240 1-1.2', '3-1', 'LAB-DISK')
  t.match(host.run(null, 'status'), { status: 1, stdout: /attached: nothing/ })
  host.plug(7, '192.0.2.1 3999 1-1.2', '3-1', 'LAB-DISK')
  t.match(host.run(null, 'status'), {
    status: 0,
    stdout: /attached: 1-1\.2 of the board is 3-1 here \(port 7, serial number LAB-DISK\)/,
  })
  host.run(null, 'detach')
  t.equal(host.asked().includes('detach --port=7'), true)
})

t.test('B.usbip.sh says in a sentence what prevents it', async (t) => {
  const host = fakeHost(t, { list: '', isRoot: false })
  t.match(host.run(null), { status: 1, stderr: 'usbip.sh: this is for root: put sudo in front of it\n' })
  t.match(host.run(null, 'fly'), { status: 1, stderr: "usbip.sh: 'fly' is not understood; see --help\n" })
  t.match(host.run(null, 'attach', 'detach'), { status: 1, stderr: /one word at a time/ })
  t.match(host.run(null, '--device'), { status: 1, stderr: /--device needs a device/ })
  t.match(host.run(null, '--device', 'stick', 'status'), { status: 1, stderr: /there is no device 'stick'/ })
  const silent = fakeHost(t, { list: LIST }).run('1-7', 'attach')
  t.match(silent, { status: 1, stdout: /the board offers nothing that is wanted now/ })
})
