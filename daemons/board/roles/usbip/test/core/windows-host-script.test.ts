import t from 'tap'
import { windowsHostScript } from '../../core/windows-host.ts'
import { literalOf, nodesOf, parsePowerShell } from '../power-shell.ts'

const plain = { host: '192.0.2.1', port: 3240, key: '46f4:0001:LAB-DISK' }

/** What would be executed if a quote is missing. */
const HOSTILE = [
  "'; Remove-Item C:\\ ; '",
  '"; Remove-Item C:\\ ; "',
  '$(Remove-Item C:\\)',
  '`"; Remove-Item C:\\',
  '\nRemove-Item C:\\\n',
  "'@\nRemove-Item C:\\\n@'",
  '}\nRemove-Item C:\\\n{',
  '\u2018; Remove-Item C:\\ ; \u2019',
  '\u201c; Remove-Item C:\\ ; \u201d',
  '#> Remove-Item C:\\ <#',
  // Its second byte is a quote if Windows reads the file in code page 1252.
  '\u0451; Remove-Item C:\\ ; \u0452',
]

/** Commands of Windows that the script calls. */
const OF_WINDOWS = new Set(
  `Add-Content ForEach-Object Get-Command Get-Content Get-Date Get-FileHash Get-Item Get-ItemProperty Get-PnpDevice
  Get-ScheduledTask Invoke-WebRequest Join-Path New-Item New-Object New-ScheduledTaskAction New-ScheduledTaskPrincipal
  New-ScheduledTaskSettingsSet New-ScheduledTaskTrigger Out-Host Register-ScheduledTask Remove-Item Set-Content
  Set-StrictMode Start-Process Start-ScheduledTask Start-Sleep Stop-ScheduledTask Test-Path Unregister-ScheduledTask
  Where-Object winget.exe`.split(/\s+/),
)

t.test('B.usbip.ps1 a parser of PowerShell reads it, with every kind of value', async (t) => {
  for (const value of ['192.0.2.1', 'fe80::1%eth0', 'board-7.local', ...HOSTILE])
    t.equal(parsePowerShell(windowsHostScript({ host: value, port: 3240, key: `46f4:0001:${value}` })).hasError, false)
  t.equal(parsePowerShell(windowsHostScript({ ...plain, key: null })).hasError, false)
})

t.test('B.usbip.ps1 the parser detects a missing brace or parenthesis', async (t) => {
  const script = windowsHostScript(plain)
  const root = parsePowerShell(script)
  const places = ['{', '}', '(', ')'].flatMap((kind) => nodesOf(root, kind).map((node) => node.startIndex))
  const tried = places.filter((_, nth) => nth % 25 === 0)
  t.ok(tried.length > 10)
  const unseen = tried.filter((at) => !parsePowerShell(script.slice(0, at) + script.slice(at + 1)).hasError)
  t.same(unseen, [])
})

t.test('B.usbip.ps1 executes no value, whatever it contains', async (t) => {
  const commandsOf = (script: string) => nodesOf(parsePowerShell(script), 'command').map(({ text }) => text)
  const expected = commandsOf(windowsHostScript(plain))
  t.ok(expected.length > 50)
  for (const value of HOSTILE) {
    const script = windowsHostScript({ host: value, port: 3240, key: `46f4:0001:${value}` })
    t.same(commandsOf(script), expected, value)
    t.match(script, /^[\r\n -~]+$/)
  }
})

t.test('B.usbip.ps1 contains the values it was made with', async (t) => {
  for (const value of HOSTILE) {
    const root = parsePowerShell(windowsHostScript({ host: value, port: 3999, key: value }))
    const assigned = new Map(
      nodesOf(root, 'assignment_expression').map((one) => [one.children[0]?.text, one.children.at(-1)]),
    )
    const valueIn = (name: string) => {
      const expression = assigned.get(name)
      return expression && literalOf(expression)
    }
    t.equal(valueIn('$BoardHost'), value)
    t.equal(valueIn('$BoardDevice'), value)
    t.equal(valueIn('$BoardPort'), '3999')
  }
})

t.test('B.usbip.ps1 calls nothing but its own functions and commands of Windows', async (t) => {
  const root = parsePowerShell(windowsHostScript(plain))
  const functions = nodesOf(root, 'function_name').map(({ text }) => text)
  const called = new Set(nodesOf(root, 'command_name').map(({ text }) => text))
  t.same(
    [...called].filter((name) => !functions.includes(name) && !OF_WINDOWS.has(name)),
    [],
  )
  t.same(
    functions.filter((name) => !called.has(name)),
    [],
    'no function is left over',
  )
})

/** The patterns that a function of the script compares lines with, as expressions of JavaScript. */
function patternsOf(name: string): RegExp[] {
  const root = parsePowerShell(windowsHostScript(plain))
  const body = nodesOf(root, 'function_statement').find((one) => nodesOf(one, 'function_name')[0]?.text === name)
  return [...(body?.text ?? '').matchAll(/-match '([^']*)'/g)].map(([, pattern = '']) => new RegExp(pattern, 'i'))
}

t.test('B.usbip.ps1 finds devices in what usbip-win2 prints', async (t) => {
  const [offer] = patternsOf('Get-Offers')
  const lines = [
    'Exportable USB devices',
    '   3-2     : Evil : 9-9: (46f4:0001) (1005:b113)',
    '           : /sys/devices/pci0000:00/0000:00:14.0/usb3/3-2',
    '           : (Defined at Interface level) (00/00/00)',
    '           :  0 - Mass Storage / SCSI / Bulk-Only (08/06/50)',
    '  1-1.2    : QEMU : unknown product (46f4:0001)',
  ]
  t.same(
    lines.flatMap((line) => (offer ? [offer.exec(line)?.slice(1)] : [])).filter((found) => found !== undefined),
    [
      ['3-2', '1005:b113'],
      ['1-1.2', '46f4:0001'],
    ],
  )
  const [port, from] = patternsOf('Get-Attached')
  t.equal(port?.exec('Port 01: device in use at High Speed(480Mbps)')?.[1], '01')
  t.same(from?.exec('           -> usbip://fe80::1:3240/3-2')?.slice(1), ['fe80::1', '3240', '3-2'])
})
