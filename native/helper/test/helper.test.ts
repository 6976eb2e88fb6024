/** What the helper does for each verb, below a tree of its own. */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { driveBy, helperBinary, startHelper } from './running-helper.ts'
import { hasDescriptors, type RequestWith, sayWithDescriptors, tcpSender } from './with-descriptors.ts'

const ATTACH = 'usbip-attach 1-1\n'
const DRIVERS = 'sys/bus/usb/drivers'
const DEVICE = 'sys/bus/usb/devices/1-1'

t.test('usbip-bind takes the device from its driver and gives it to usbip-host', async (t) => {
  const helper = await startHelper(t)
  t.equal(await helper.say('usbip-bind 1-1\n'), 'ok\n')
  t.equal(helper.file(`${DRIVERS}/usbip-host/match_busid`), 'add 1-1')
  t.equal(helper.file(`${DRIVERS}/usb/unbind`), '1-1')
  t.equal(helper.file(`${DRIVERS}/usbip-host/bind`), '1-1')
})

t.test('usbip-bind of a device that is bound changes nothing', async (t) => {
  const helper = await startHelper(t)
  driveBy(helper.root, '1-1', 'usbip-host')
  t.equal(await helper.say('usbip-bind 1-1\n'), 'ok is bound already\n')
  t.equal(helper.file(`${DRIVERS}/usbip-host/bind`), '')
})

t.test('usbip-bind refuses a hub, a device that is not there, and a kernel without usbip-host', async (t) => {
  const helper = await startHelper(t)
  t.match(await helper.say('usbip-bind 1-2\n'), /^error is_hub 1-2 is a hub/)
  t.equal(await helper.say('usbip-bind 1-7\n'), 'error no_device there is no USB device 1-7\n')
  rmSync(join(helper.root, DRIVERS, 'usbip-host'), { recursive: true })
  t.equal(await helper.say('usbip-bind 1-1\n'), 'error no_usbip_host the kernel has no usbip-host driver loaded\n')
  t.equal(helper.file(`${DRIVERS}/usb/unbind`), '', 'the device has its driver')
})

t.test('usbip-bind that usbip-host does not take leaves the device with its driver', async (t) => {
  const helper = await startHelper(t)
  rmSync(join(helper.root, DRIVERS, 'usbip-host/bind'))
  t.equal(
    await helper.say('usbip-bind 1-1\n'),
    'error bind_failed usbip-host does not take 1-1: No such file or directory\n',
  )
  t.equal(helper.file(`${DRIVERS}/usbip-host/match_busid`), 'del 1-1')
  t.equal(helper.file(`${DRIVERS}/usb/bind`), '1-1')
})

t.test('usbip-unbind has the kernel pick a driver again', async (t) => {
  const helper = await startHelper(t)
  driveBy(helper.root, '1-1', 'usbip-host')
  t.equal(await helper.say('usbip-unbind 1-1\n'), 'ok\n')
  t.equal(helper.file(`${DRIVERS}/usbip-host/unbind`), '1-1')
  t.equal(helper.file(`${DRIVERS}/usbip-host/match_busid`), 'del 1-1')
  t.equal(helper.file(`${DRIVERS}/usbip-host/rebind`), '1-1')
})

t.test('usbip-unbind gives the device to the generic driver where the kernel cannot pick', async (t) => {
  const helper = await startHelper(t)
  driveBy(helper.root, '1-1', 'usbip-host')
  rmSync(join(helper.root, DRIVERS, 'usbip-host/rebind'))
  t.equal(await helper.say('usbip-unbind 1-1\n'), 'ok\n')
  t.equal(helper.file(`${DRIVERS}/usb/bind`), '1-1')
})

t.test('usbip-unbind of a device that was pulled takes it off the list, and touches no device', async (t) => {
  const helper = await startHelper(t)
  t.equal(await helper.say('usbip-unbind 3-1.4\n'), 'ok was no longer bound\n')
  t.equal(helper.file(`${DRIVERS}/usbip-host/match_busid`), 'del 3-1.4')
  t.equal(helper.file(`${DRIVERS}/usbip-host/rebind`), '')
})

t.test('usbip-attach hands the number of the descriptor to the kernel', async (t) => {
  const helper = await startHelper(t)
  driveBy(helper.root, '1-1', 'usbip-host')
  const send = await tcpSender(t, helper.path)
  t.equal(await send(ATTACH), 'ok\n')
  t.match(helper.file(`${DEVICE}/usbip_sockfd`), /^\d+$/)
})

t.test(
  'usbip-attach takes a connected TCP socket and nothing else',
  { skip: hasDescriptors ? false : 'python3 3.9 is not installed' },
  async (t) => {
    const helper = await startHelper(t)
    driveBy(helper.root, '1-1', 'usbip-host')
    const wrong: RequestWith[] = ['file', 'pipe', 'udp', 'unix', 'unconnected'].map((kind) => [ATTACH, [kind]])
    for (const answer of sayWithDescriptors(helper.path, wrong)) t.match(answer, /^error bad_descriptor the descriptor/)
    const [two, many, unasked] = sayWithDescriptors(helper.path, [
      [ATTACH, ['tcp', 'tcp']],
      [ATTACH, Array(200).fill('file')],
      ['reboot\n', ['tcp']],
    ])
    t.match(two, /^error bad_descriptor more than one/)
    t.match(many, /^error bad_descriptor more than one/)
    t.match(unasked, /^error bad_descriptor no descriptor/)
    t.match(await helper.say('usbip-attach 1-1\n'), /^error bad_descriptor exactly one/)
    t.equal(helper.file(`${DEVICE}/usbip_sockfd`), '')
    t.same(helper.ran(), [])
  },
)

t.test('usbip-attach says who is in the way', async (t) => {
  const helper = await startHelper(t)
  const send = await tcpSender(t, helper.path)
  const attach = () => send(ATTACH)
  t.equal(await attach(), 'error not_bound 1-1 is not bound to usbip-host\n')
  driveBy(helper.root, '1-1', 'usbip-host')
  helper.put(`${DEVICE}/usbip_status`, '2\n')
  t.equal(await attach(), 'error busy 1-1 is in use by another host\n')
  helper.put(`${DEVICE}/usbip_status`, '3\n')
  t.equal(await attach(), 'error device_error 1-1 is not available, usbip_status is 3\n')
  helper.put(`${DEVICE}/usbip_status`, '1\n')
  rmSync(join(helper.root, DEVICE, 'usbip_sockfd'))
  t.match(await attach(), /^error attach_failed the kernel does not take the connection for 1-1: No such file or/)
})

t.test('usbip-detach ends the connection of a host that is there', async (t) => {
  const helper = await startHelper(t)
  driveBy(helper.root, '1-1', 'usbip-host')
  t.equal(await helper.say('usbip-detach 1-1\n'), 'error not_attached no host has 1-1\n')
  helper.put(`${DEVICE}/usbip_status`, '2\n')
  t.equal(await helper.say('usbip-detach 1-1\n'), 'ok\n')
  t.equal(helper.file(`${DEVICE}/usbip_sockfd`), '-1')
})

t.test('B.config hostname and reboot run the programs of the system, with their words', async (t) => {
  const helper = await startHelper(t)
  t.equal(await helper.say('hostname cellar-1\n'), 'ok\n')
  t.equal(await helper.say('reboot\n'), 'ok\n')
  t.same(helper.ran(), [
    'hostnamectl --no-ask-password --static set-hostname cellar-1',
    'systemctl --no-ask-password --no-block reboot',
  ])
})

t.test('lamp has the kernel drive a lamp, and sets its brightness where nothing else does', async (t) => {
  const helper = await startHelper(t)
  const lamp = 'sys/class/leds/board:status'
  helper.put(`${lamp}/trigger`, '')
  helper.put(`${lamp}/brightness`, '')
  t.equal(await helper.say('lamp board:status timer 0\n'), 'ok\n')
  t.same([helper.file(`${lamp}/trigger`), helper.file(`${lamp}/brightness`)], ['timer', ''])
  helper.put(`${lamp}/trigger`, '')
  t.equal(await helper.say('lamp board:status none 255\n'), 'ok\n')
  t.same([helper.file(`${lamp}/trigger`), helper.file(`${lamp}/brightness`)], ['none', '255'])
  t.equal(await helper.say('lamp PWR timer 0\n'), 'error no_lamp there is no lamp PWR\n')
  rmSync(join(helper.root, lamp, 'trigger'))
  t.match(
    await helper.say('lamp board:status timer 0\n'),
    /^error lamp_failed board:status does not take the trigger timer/,
  )
})

t.test('a lamp is a word and no path, its trigger too, its brightness a number', async (t) => {
  const helper = await startHelper(t)
  for (const words of ['../net timer 0', '.. timer 0', 'a/b timer 0', 'PWR ../x 0', 'PWR timer -1', 'PWR timer 65536'])
    t.match(await helper.say(`lamp ${words}\n`), /^error bad_lamp/, words)
  for (const words of ['PWR timer x', `${'x'.repeat(65)} timer 0`, 'PWR timer 000001'])
    t.match(await helper.say(`lamp ${words}\n`), /^error bad_lamp/, words)
  t.match(await helper.say('lamp PWR timer\n'), /^error bad_request/)
})

t.test('what a program says when it fails is in the answer, on one line', async (t) => {
  const helper = await startHelper(t)
  helper.put('fails', 'no bus\nnor é\u0007 anything\n')
  const answer = await helper.say('hostname cellar-1\n')
  t.match(answer, /^error hostname_failed .*\/usr\/bin\/hostnamectl ended with 1: no bus nor [ -~]* anything *\n$/)
  t.equal(answer.indexOf('\n'), answer.length - 1)
})

t.test('network writes one file for networkd and has it read', async (t) => {
  const helper = await startHelper(t)
  t.equal(await helper.say('network static eth0 10.0.0.7/24 10.0.0.1\n'), 'ok\n')
  const head = "# Written for the network board's settings; changed there.\n[Match]\nName=eth0\n\n[Network]\n"
  const file = 'etc/systemd/network/10-plantroom.network'
  t.equal(helper.file(file), `${head}DHCP=no\nAddress=10.0.0.7/24\nGateway=10.0.0.1\nDNS=10.0.0.1\n`)
  t.equal(await helper.say('network static eth0 10.0.0.7/24 -\n'), 'ok\n')
  t.equal(helper.file(file), `${head}DHCP=no\nAddress=10.0.0.7/24\n`)
  t.equal(await helper.say('network static eth0 10.0.0.7/24 10.0.0.1 10.9.0.53,10.9.0.54\n'), 'ok\n')
  const servers = 'DNS=10.9.0.53\nDNS=10.9.0.54\n'
  t.equal(helper.file(file), `${head}DHCP=no\nAddress=10.0.0.7/24\nGateway=10.0.0.1\n${servers}`)
  t.equal(await helper.say('network static eth0 10.0.0.7/24 - 10.0.0.53\n'), 'ok\n')
  t.equal(helper.file(file), `${head}DHCP=no\nAddress=10.0.0.7/24\nDNS=10.0.0.53\n`)
  t.equal(await helper.say('network dhcp eth0\n'), 'ok\n')
  t.equal(helper.file(file), `${head}DHCP=yes\nLinkLocalAddressing=yes\n`)
  const read = ['networkctl --no-ask-password reload', 'networkctl --no-ask-password reconfigure eth0']
  t.same(helper.ran(), [...read, ...read, ...read, ...read, ...read])
})

t.test('network that networkd does not take leaves the file as it was', async (t) => {
  const helper = await startHelper(t)
  const file = 'etc/systemd/network/10-plantroom.network'
  helper.put('fails', 'Failed to connect to bus')
  t.match(await helper.say('network dhcp eth0\n'), /^error network_failed .*Failed to connect to bus\n$/)
  t.notOk(existsSync(join(helper.root, file)))
  helper.put(file, 'before\n')
  t.match(await helper.say('network dhcp eth0\n'), /^error network_failed/)
  t.equal(helper.file(file), 'before\n')
})

t.test('network refuses what is not an address, no interface, or no way out', async (t) => {
  const helper = await startHelper(t)
  const words = [
    'dhcp',
    'dhcp lo',
    'dhcp eth*',
    'dhcp ../eth0',
    'dhcp eth0 10.0.0.7/24',
    'auto eth0',
    'static eth0',
    'static eth0 10.0.0.7 10.0.0.1',
    'static eth0 10.0.0.7/24',
    'static eth0 10.0.0.7/0 -',
    'static eth0 10.0.0.7/31 -',
    'static eth0 10.0.0.7/024 -',
    'static eth0 10.0.0.0/24 -',
    'static eth0 10.0.0.255/24 -',
    'static eth0 224.0.0.7/24 -',
    'static eth0 127.0.0.7/24 -',
    'static eth0 0.0.0.7/24 -',
    'static eth0 10.0.0.256/24 -',
    'static eth0 fe80::7/24 -',
    'static eth0 10.0.0.7/24 10.0.1.1',
    'static eth0 10.0.0.7/24 10.0.0.7',
    'static eth0 10.0.0.7/24 10.0.0.255',
    'static eth0 10.0.0.7/24 x',
    'static eth0 10.0.0.7/24/24 -',
    'static eth0 10.0.0.7/24 10.0.0.1 127.0.0.53',
    'static eth0 10.0.0.7/24 10.0.0.1 10.0.0.2,',
    'static eth0 10.0.0.7/24 10.0.0.1 ,10.0.0.2',
    'static eth0 10.0.0.7/24 10.0.0.1 10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5',
    'static eth0 10.0.0.7/24 10.0.0.1 10.0.0.2 10.0.0.3',
  ]
  for (const given of words) t.match(await helper.say(`network ${given}\n`), /^error bad_(network|request)/, given)
  t.equal(await helper.say('network dhcp eth9\n'), 'error no_interface there is no network interface eth9\n')
  t.notOk(existsSync(join(helper.root, 'etc/systemd/network/10-plantroom.network')))
  t.same(helper.ran(), [])
})

t.test('what is no bus id or no host name never gets near a path or a program', async (t) => {
  const helper = await startHelper(t)
  const ids = [
    '../1-1',
    '1-1/..',
    '1',
    '1-',
    '-1',
    '1-1.',
    '1-1..2',
    '01-1',
    '1-1:1.0',
    '1234-1',
    '1-1.1.1.1.1.1.1.1',
    'usb1',
  ]
  for (const id of ids)
    for (const verb of ['usbip-bind', 'usbip-unbind', 'usbip-detach'])
      t.match(await helper.say(`${verb} ${id}\n`), /^error bad_busid/, `${verb} ${id}`)
  for (const name of ['-a', 'a-', 'a.b', '--help', 'a_b', '$(reboot)', 'x'.repeat(64)])
    t.match(await helper.say(`hostname ${name}\n`), /^error bad_hostname/, name)
  t.same(helper.ran(), [])
})

t.test('a command line that makes no sense is refused with the right one', async (t) => {
  for (const args of [
    ['--listen'],
    ['--listen', 'relative'],
    ['--sure'],
    ['--user', 'nobody-has-this-name'],
    ['--idle-seconds', '-1'],
  ]) {
    const { status, stderr } = spawnSync(helperBinary, args, { encoding: 'utf8', timeout: 5000 })
    t.equal(status, 2, args.join(' '))
    t.match(stderr, /--install-seconds N/)
  }
  const { status, stderr } = spawnSync(helperBinary, [], { encoding: 'utf8', timeout: 5000 })
  t.equal(status, 1)
  t.match(stderr, /start it by its socket unit, or with --listen PATH/)
})
