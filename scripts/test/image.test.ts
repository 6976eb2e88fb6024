/**
 * The recipe of a card, without building one: the partition table, GRUB's and RAUC's files fit each other. GRUB's script
 * is near enough to bash to run in it: the words that differ are functions here.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { parse } from 'smol-toml'
import { type Test, t } from 'tap'

const recipes = join(import.meta.dirname, '../../firmware-images')
const bootState = join(recipes, 'tree/usr/lib/plantroom-image/boot-state')
const read = (name: string) => readFileSync(join(recipes, name), 'utf8')

/** GRUB's own words, in bash; a slot that `EMPTY` names holds no kernel. */
const GRUB = `
set() { printf -v "\${1%%=*}" %s "\${1#*=}"; }
load_env() { local line; while IFS= read -r line; do case $line in [AO]*=*|B_*=*) set "$line";; esac; done <"$ENV"; }
save_env() { case $CARD in refuses) return 1 ;; forgets) return 0 ;; esac; { echo '# GRUB Environment Block'; for n in "$@"; do echo "$n=\${!n}"; done; head -c 1024 /dev/zero | tr '\\0' '#'; } | head -c 1024 >"$ENV.new" && cat "$ENV.new" >"$ENV"; }
linux() { case $1 in *gpt2*) part=A;; *gpt3*) part=B;; esac; [ "$part" != "$EMPTY" ] && [[ " $* " == *" root=PARTLABEL=root$part rauc.slot=$part "* ]]; }
initrd() { :; }
boot() { echo "started $part on $disk"; exit 0; }
sleep() { :; }
reboot() { echo 'nothing started'; exit 0; }
root=hd1,gpt1
`

/** A card with a grubenv as make_disk writes it. */
function card(t: Test, state = 'ORDER=A B\nA_OK=1\nA_LEFT=3\nB_OK=0\nB_LEFT=0\n') {
  const env = join(t.testdir({}), 'grubenv')
  writeFileSync(env, `# GRUB Environment Block\n${state}`.padEnd(1024, '#'))
  return {
    env,
    /** Power on. @param ails what writing the state comes to @returns the slot that starts */
    start(empty = '', ails: 'refuses' | 'forgets' | '' = ''): string {
      const out = execFileSync('bash', ['-c', `${GRUB}${read('grub.cfg')}`], {
        encoding: 'utf8',
        env: { ...process.env, ENV: env, EMPTY: empty, CARD: ails },
      })
      return /started ([AB]) on hd1/.exec(out)?.[1] ?? out
    },
    call(...words: string[]): string {
      return execFileSync('sh', [bootState, ...words], {
        encoding: 'utf8',
        env: { ...process.env, PLANTROOM_GRUBENV: env },
      }).trim()
    },
  }
}

t.test('a new card starts the one system that it has, however often it is cut', async (t) => {
  const { start } = card(t)
  for (let times = 0; times < 8; times += 1) t.equal(start(), 'A')
})

t.test('a new system has one start to show that it is good', async (t) => {
  const { call, start } = card(t)
  call('confirm', 'A')
  call('set-state', 'B', 'bad')
  t.equal(start(), 'A', 'cut off while it is written')
  call('set-primary', 'B')
  t.equal(call('get-primary'), 'B')
  t.equal(start(), 'B')
  t.equal(start(), 'A', 'it has not shown that it is good')
  t.equal(call('get-state', 'B'), 'bad')
  call('confirm', 'A')
  t.match(call('show'), /^ORDER=A B\nA_OK=1\nA_LEFT=3\nB_OK=0\nB_LEFT=0$/)
})

t.test('a system that has shown it is left after three starts that came to nothing', async (t) => {
  const { call, start } = card(t)
  call('set-primary', 'B')
  t.equal(start(), 'B')
  call('confirm', 'B')
  t.match(call('show'), /^ORDER=B A\nA_OK=1\nA_LEFT=3\nB_OK=1\nB_LEFT=3$/)
  t.same([start(), start(), start(), start()], ['B', 'B', 'B', 'A'])
})

t.test('a slot that holds nothing that starts is passed over at once', async (t) => {
  const { call, start } = card(t)
  call('set-primary', 'B')
  t.equal(start('B'), 'A')
})

t.test('where no start can be counted, a new system gives way to the one that has shown it is good', async (t) => {
  for (const ails of ['refuses', 'forgets'] as const) {
    const { call, start } = card(t)
    call('set-primary', 'B')
    for (let times = 0; times < 3; times += 1) t.equal(start('', ails), 'A')
    t.equal(start('A', ails), 'B', 'if nothing else starts')
    call('confirm', 'B')
    t.equal(start('', ails), 'B', 'one that is good stays')
  }
  const { call, start } = card(t)
  call('set-state', 'B', 'bad')
  t.equal(start('', 'refuses'), 'A', 'the only one')
})

t.test('where both have come to nothing, both are tried on', async (t) => {
  const { call, start } = card(t)
  call('set-primary', 'B')
  const started = Array.from({ length: 8 }, () => start())
  t.ok(started.slice(4).includes('A') && started.slice(4).includes('B'), started.join(' '))
})

t.test('a card whose grubenv is not readable starts', async (t) => {
  const { env, start } = card(t)
  writeFileSync(env, '')
  t.equal(start(), 'A')
  t.equal(card(t, '').start(), 'A')
})

t.test('the state keeps its size and its place, so that one sector is written', async (t) => {
  const { call, env } = card(t)
  for (const words of [
    ['set-primary', 'B'],
    ['set-state', 'A', 'bad'],
    ['confirm', 'B'],
  ]) {
    call(...words)
    const text = readFileSync(env, 'utf8')
    t.equal(text.length, 1024)
    t.ok(text.indexOf('##') < 512)
  }
})

t.test('boot-state refuses what is no slot, no state and no environment', async (t) => {
  const { env } = card(t)
  const codeOf = (file: string, ...words: string[]) =>
    spawnSync('sh', [bootState, ...words], { env: { ...process.env, PLANTROOM_GRUBENV: file } }).status
  t.equal(codeOf(env, 'get-state', 'C'), 2)
  t.equal(codeOf(env, 'set-state', 'A', 'fine'), 2)
  t.equal(codeOf(env, 'format'), 2)
  t.equal(codeOf(bootState, 'show'), 1)
})

t.test('partitions, GRUB and RAUC name the same slots', async (t) => {
  const table = read('partitions.sfdisk')
  const names = [...table.matchAll(/name=(\w+)/g)].map((match) => match[1])
  t.same(names, ['boot', 'rootA', 'rootB', 'data'])
  const sizes = [...table.matchAll(/size=(\d+)MiB/g)].map((match) => match[1])
  t.equal(sizes[1], sizes[2], 'an update fits into either slot')
  const rauc = read('rauc/system.conf')
  const slots = [
    ...rauc.matchAll(/\[slot\.rootfs\.\d\]\ndevice=\/dev\/disk\/plantroom\/(\w+)\ntype=raw\nbootname=(\w)/g),
  ]
  t.same(
    slots.map(([, device, name]) => [device, name]),
    [
      ['rootA', 'A'],
      ['rootB', 'B'],
    ],
  )
  t.match(rauc, /^bundle-formats=verity$/m)
  t.match(rauc, /^bootloader-custom-backend=\/usr\/lib\/plantroom-image\/boot-state$/m)
  const manifest = read('rauc/manifest.raucm')
  t.match(manifest, /^format=verity$/m)
  t.match(manifest, /^\[image\.rootfs\]\nfilename=rootfs\.img$/m)
  for (const text of [rauc, manifest, read('tree/etc/plantroom/board.toml')])
    t.match(text, /compatible ?= ?"?@COMPATIBLE@/)
})

const hasRauc = ['rauc', 'faketime', 'openssl'].every((tool) => spawnSync(tool, ['--version']).error === undefined)

t.test('a board whose clock is years behind proves a bundle all the same', async (t) => {
  const conf = read('rauc/system.conf')
  t.match(conf, /^\[keyring\]\n(?:.+\n)*use-bundle-signing-time=true$/m)
  if (!hasRauc) return
  const bed = t.testdir({
    bundle: { 'rootfs.img': randomBytes(16_384).toString('hex'), 'manifest.raucm': read('rauc/manifest.raucm') },
  })
  const run = (command: string, ...words: string[]) =>
    spawnSync(command, words, {
      cwd: bed,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${process.env.PATH}:/sbin` },
    })
  t.equal(run(join(recipes, '../scripts/image/keys.sh'), join(bed, 'keys'), '--development').status, 0)
  const keys = ['--cert=keys/signer.pem', '--key=keys/signer.key', '--keyring=keys/release-root.pem']
  t.equal(run('rauc', 'bundle', ...keys, 'bundle', 'one.raucb').status, 0)
  writeFileSync(join(bed, 'system.conf'), conf.replace(/^path=.*$/m, 'path=keys/release-root.pem'))
  const seen = run('faketime', '2020-01-01', 'rauc', '--conf=system.conf', 'info', 'one.raucb')
  t.equal(seen.status, 0, seen.stderr)
})

t.test('an image that the installer has no room to unpack is refused before it is sent', async (t) => {
  const toml = parse(read('tree/etc/plantroom/board.toml')) as { ota: { reserve_bytes?: number } }
  // Measured: a payload of 190 MB; and what a board keeps free without an installer.
  t.ok((toml.ota.reserve_bytes ?? 0) >= 190e6 + 67_108_864)
})

t.test('a Raspberry Pi starts by itself alone, whatever its serial line and its network say', async (t) => {
  const settings = read('uboot.env.txt')
  t.match(settings, /^bootdelay=-2$/m, 'no key stops it')
  t.match(settings, /^boot_targets=mmc usb$/m)
  t.match(settings, /^bootcmd=bootflow scan; .*reset$/m, 'what did not start is tried again')
})

/** A board's first start, on files of the test; what changes a disk is played, and fails where `failing` names it. */
function firstStart(t: Test, failing = '') {
  const bed = t.testdir({
    dev: { disk: { plantroom: { data: t.fixture('symlink', '../../vda4') } }, vda4: '' },
    sys: {
      devices: { vda: { vda4: { partition: '4', start: '1968128', size: '262144' } } },
      class: { block: { vda: { size: '61440000' }, vda4: t.fixture('symlink', '../../devices/vda/vda4') } },
    },
    etc: { 'machine-id': 'f'.repeat(32), hostname: 'plantroom\n', ssh: { ssh_host_ed25519_key: '' } },
    boot: { authorized_keys: 'ssh-ed25519 AAAA ann\n' },
    proc: { 'device-tree': { 'serial-number': '10000000ABCD1234\0' }, sys: { kernel: {} } },
  })
  const script = read('tree/usr/lib/plantroom-image/first-boot').replaceAll(
    /(?<!\w)\/(?=(?:boot|dev|etc|proc|sys)\/)/g,
    `${bed}/`,
  )
  const played = `
for one in sfdisk partx resize2fs; do eval "$one() { echo \\"$one \\$*\\" >>'${bed}/asked'; [ $one != '${failing}' ]; }"; done
sync() { echo sync >>'${bed}/asked'; }
ssh-keygen() { for last in "$@"; do :; done; echo key >"$last"; echo key >"$last.pub"; }
`
  const { status, stdout } = spawnSync('bash', ['-c', played + script], { encoding: 'utf8' })
  const at = (path: string) => readFileSync(join(bed, path), 'utf8')
  return { status, stdout, at, asked: at('asked').replaceAll(`${bed}`, '') }
}

t.test('the first start makes name and keys before it makes room, one that a cut left empty too', async (t) => {
  const { asked, at, status } = firstStart(t)
  t.equal(status, 0)
  t.equal(at('etc/hostname'), 'plantroom-abcd1234\n')
  for (const kind of ['ed25519', 'ecdsa']) t.equal(at(`etc/ssh/ssh_host_${kind}_key`), 'key\n')
  t.equal(at('etc/ssh/authorized_keys/root'), 'ssh-ed25519 AAAA ann\n')
  t.match(asked, /^sync\nsfdisk .* \/dev\/vda\nsfdisk .* -N 4 \/dev\/vda\npartx .*\nresize2fs \/dev\/vda4\n$/)
})

t.test('a partition is known by its disk too: another one may hold the same image', async (t) => {
  const bed = t.testdir({
    sys: {
      devices: { vda: { vda2: {}, vda4: {} }, vdb: { vdb4: {} } },
      dev: { block: { '254:2': t.fixture('symlink', '../../devices/vda/vda2') } },
    },
  })
  const isOwn = (path: string) => {
    const script = read('tree/usr/lib/plantroom-image/own-disk').replaceAll('"/sys', `"${bed}/sys`)
    return (
      spawnSync('sh', ['-c', `mountpoint() { [ "$*" = '--fs-devno /' ] && echo 254:2; }\n${script}`, 'own-disk', path])
        .status === 0
    )
  }
  t.same(['/devices/vda/vda4', '/devices/vda/vda2', '/devices/vdb/vdb4', ''].map(isOwn), [true, true, false, false])
  const rule = read('tree/usr/lib/udev/rules.d/61-plantroom-disk.rules')
  t.match(rule, 'ENV{ID_PART_ENTRY_NAME}=="boot|rootA|rootB|data"')
  for (const file of ['rauc/system.conf', 'tree/etc/fstab', 'tree/usr/lib/plantroom-image/first-boot'])
    t.notMatch(read(file), /PARTLABEL|by-partlabel/, file)
})

t.test('a card that does not grow is a board with name and keys, and says so', async (t) => {
  for (const failing of ['sfdisk', 'partx', 'resize2fs']) {
    const { at, status, stdout } = firstStart(t, failing)
    t.equal(status, 0, failing)
    t.equal(at('etc/ssh/ssh_host_ecdsa_key'), 'key\n')
    t.match(stdout, 'has not grown')
  }
})

t.test('users that a later image brings are made, whoever has added others', async (t) => {
  const dropped = read('tree/usr/lib/systemd/system/systemd-sysusers.service.d/image.conf')
  // Of conditions an empty one takes all away. @source systemd.unit(5)
  t.match(dropped, /^\[Unit\]\nConditionNeedsUpdate=$/m)
  const parts = readFileSync(join(recipes, '../scripts/image/parts.sh'), 'utf8')
  t.match(parts, /^ {2}chroot "\$tree" systemd-sysusers$/m, 'and none of its own image is missing at the first start')
})

const hasTmpfiles = spawnSync('systemd-tmpfiles', ['--version']).status === 0

t.test(
  'what a cut installation has left on data is gone after the next start, and the floor stays',
  { skip: !hasTmpfiles && 'systemd-tmpfiles is missing' },
  async (t) => {
    const bed = t.testdir({ data: { ota: { 'bundle.raucb': 'b', 'bundle.raucb.new': 'n', floor: '1.0.0\n' } } })
    const conf = join(recipes, 'tree/usr/lib/tmpfiles.d/plantroom-image.conf')
    spawnSync('systemd-tmpfiles', ['--remove', '--boot', `--root=${bed}`, conf])
    t.same(readdirSync(join(bed, 'data/ota')), ['floor'])
  },
)

const root = join(recipes, '..')
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`, SOURCE_DATE_EPOCH: '1' }
const missing = ['sfdisk', 'mkfs.vfat', 'mke2fs', 'mcopy', 'mkenvimage'].filter(
  (tool) => spawnSync('sh', ['-c', `command -v ${tool}`], { env }).status !== 0,
)

t.test('a card is read by UEFI and by a Raspberry Pi', { skip: missing[0] && `${missing} is missing` }, async (t) => {
  const made = readFileSync(join(root, 'scripts/image/base-extras.sh'), 'utf8')
  const firmware = (/for name in (bootcode\.bin .*); do/.exec(made)?.[1] ?? '').split(' ')
  t.match(made, '/rpi_arm64/u-boot.bin "$folder/boot/"')
  const boot = Object.fromEntries([...firmware, 'u-boot.bin'].map((name) => [name, name]))
  const bed = t.testdir({
    base: { boot: { ...boot, EFI: { BOOT: { 'BOOTAA64.EFI': 'GRUB' } } } },
    build: { image: {} },
    slot: 'a system',
    'firmware-images': t.fixture('symlink', recipes),
  })
  const step = (command: string, ...words: string[]) =>
    execFileSync('bash', ['-euo', 'pipefail', '-c', command, 'bash', ...words], {
      cwd: bed,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  const parts = join(root, 'scripts/image/parts.sh')
  step('. "$1"; make_disk base slot disk', parts)
  const table = () => JSON.parse(step('sfdisk --json disk')).partitiontable
  t.equal(table().label, 'gpt')
  t.same(
    table().partitions.map(({ name }: { name: string }) => name),
    ['boot', 'rootA', 'rootB', 'data'],
  )

  const data = step(`dumpe2fs -h "disk?offset=$((${table().partitions[3].start} * 512))"`)
  t.match(data, /^Inode count: +8192\n[\s\S]*^Block size: +4096$/m, 'data has the blocks of what it will be')
  const first = table().partitions[0]
  const records = () =>
    step('head -c 512 disk | od --address-radix=n --format=x1 --output-duplicates -j 446 | tr -d " \\n"')
  const mbr = Buffer.from(records(), 'hex')
  t.equal(mbr[4], 0x0c, 'its boot ROM looks for FAT, in the first record')
  t.same([mbr.readUInt32LE(8), mbr.readUInt32LE(12)], [first.start, first.size])
  t.same([mbr[16 + 4], mbr.readUInt32LE(16 + 8)], [0xee, 1], 'everybody else for this')
  const before = records()
  step(
    'truncate --size=2G disk; sfdisk --quiet --relocate gpt-bak-std disk; echo ", +" | sfdisk --quiet --force -N 4 disk',
  )
  t.ok(table().partitions[3].size > 1_500_000, 'data grows, as in first-boot')
  t.equal(records(), before, 'and its table is left alone')

  const files = step('mdir -b -/ -i disk@@1M ::').split('\n')
  const config = step('mtype -i disk@@1M ::config.txt')
  const named = /^kernel=(.*)$/m.exec(config)?.[1]
  for (const name of [...firmware, named ?? 'kernel', 'EFI/BOOT/BOOTAA64.EFI', 'EFI/BOOT/grub.cfg', 'EFI/BOOT/grubenv'])
    t.ok(files.includes(`::/${name}`), name)
  for (const line of ['arm_64bit=1', 'upstream_kernel=1', 'enable_uart=1'])
    t.ok(config.split('\n').includes(line), line)
  step('mcopy -i disk@@1M ::uboot.env settings')
  const settings = readFileSync(join(bed, 'settings'))
  t.equal(settings.length, 0x4000, 'what U-Boot was built for')
  t.equal(settings.readUInt32LE(0), crc32(settings.subarray(4)))
})

const hasShellcheck = spawnSync('shellcheck', ['--version']).status === 0

t.test(
  'shellcheck finds nothing in what makes a card and what runs on it',
  {
    skip: !hasShellcheck && 'shellcheck is missing',
  },
  async (t) => {
    const makers = ['base', 'base-extras', 'build', 'further', 'keys', 'parts'].map(
      (name) => `scripts/image/${name}.sh`,
    )
    const own = ['boot-state', 'first-boot'].map((name) => `firmware-images/tree/usr/lib/plantroom-image/${name}`)
    const files = [...makers, ...own, 'firmware-images/tree/etc/plantroom/install-firmware']
    const { stdout } = spawnSync('shellcheck', ['--external-sources', ...files], { cwd: root, encoding: 'utf8' })
    t.equal(stdout, '')
  },
)
