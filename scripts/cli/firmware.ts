/**
 * `plantroom firmware`: images for network boards, created and inspected by the same code that boards read them with.
 */
import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { readPublicKeys } from '#kit/auth/signing-key.ts'
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions } from '#kit/pure/version.ts'
import { exitCodes } from '#kit/run/arguments.ts'
import { replaceFile } from '#kit/store/store.ts'
import { isImageVersion } from '../../daemons/board/wire/firmware-image.ts'
import { type Command, parseCommand, requireWords, runForm, type World, whyNotMade } from './command.ts'
import { type ImageFile, measure, provePayload, readImage, signImage, unpackImage } from './firmware-file.ts'

const forms = {
  keygen: 'firmware keygen PRIVATE PUBLIC',
  sign: 'firmware sign --key PRIVATE --compatible NAME --version X.Y.Z [--floor X.Y.Z] PAYLOAD IMAGE',
  show: 'firmware show [--keys PLACE]... IMAGE',
  unpack: 'firmware unpack --keys PLACE... --compatible NAME [--floor X.Y.Z] [--floor-file FILE] IMAGE TO',
}

type Words = readonly string[]

/** Creates keys, signs, inspects and unpacks. */
export const firmware: Command = {
  name: 'firmware',
  summary: 'make and look at firmware images of network boards',
  help: `plantroom ${Object.values(forms).join('\n          ')}

keygen makes an Ed25519 pair: PUBLIC goes into /etc/plantroom/firmware-keys of the boards (*.pem), PRIVATE nowhere.
sign puts a head before PAYLOAD: which kind of board it is for, its version, and from which version on older ones are
refused once this one is installed (--floor).
show says what an image is, proves its payload, and with --keys who signed it.
unpack proves an image as a board does, and writes its payload to a file or a device: for who installs it.
  --keys PLACE         a public key in PEM, or a folder of which every *.pem is one; may repeat
  --floor X.Y.Z        an older image is refused
  --floor-file FILE    the same, of a file that unpack raises to the floor of what it has unpacked
Exit codes: 0 done, and proven; 1 the image is not what it should be, or a file cannot be written; 2 wrong usage.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const known = {
      keygen: { form: forms.keygen, run: keygen },
      sign: { form: forms.sign, run: sign },
      show: { form: forms.show, run: show },
      unpack: { form: forms.unpack, run: unpack },
    }
    return await runForm(known, argv, world, (sentence, cause) => new Fault('firmware_failed', sentence, { cause }))
  },
}

async function keygen(argv: Words, world: World): Promise<number> {
  const { positionals } = parseCommand(argv, {})
  requireWords(positionals, 2, 2, forms.keygen)
  const [privateFile = '', publicFile = ''] = positionals
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  // Never overwrites a key: nobody could replace what it had signed.
  await written(privateFile, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600)
  await written(publicFile, publicKey.export({ type: 'spki', format: 'pem' }).toString(), 0o644)
  world.out(`The private key is in ${privateFile}, for whoever makes releases; the public one in ${publicFile}.\n`)
  return exitCodes.fine
}

async function written(file: string, text: string, mode: number): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx', mode })
  } catch (cause) {
    throw new Fault('bad_key', whyNotMade(file, cause), { cause })
  }
}

async function sign(argv: Words, world: World): Promise<number> {
  const { values, positionals } = parseCommand(argv, {
    key: { type: 'string' },
    compatible: { type: 'string' },
    version: { type: 'string' },
    floor: { type: 'string' },
  })
  requireWords(positionals, 2, 2, forms.sign)
  const { key, compatible, version, floor = null } = values
  if (key === undefined || compatible === undefined || version === undefined)
    throw new Fault('bad_usage', `expected: plantroom ${forms.sign}`)
  for (const given of [version, floor ?? version])
    if (!isImageVersion(given))
      throw new Fault('bad_usage', `${given} is not a version, expected three numbers such as 2.1.0`)
  const [payload = '', image = ''] = positionals
  const manifest = { compatible, version, floor, ...(await measure(payload)) }
  await signImage({ payload, image }, manifest, key)
  world.out(`${image} is ${compatible} ${version}, with ${manifest.sizeBytes} bytes of payload.\n`)
  return exitCodes.fine
}

async function show(argv: Words, world: World): Promise<number> {
  const { values, positionals } = parseCommand(argv, { keys: { type: 'string', multiple: true } })
  requireWords(positionals, 1, 1, forms.show)
  const [path = ''] = positionals
  const keys = await readPublicKeys(values.keys ?? [])
  const image = await readImage(path, keys)
  for (const [name, value] of factsOf(image, values.keys !== undefined)) world.out(`${name.padEnd(11)} ${value}\n`)
  await provePayload(path, image)
  world.out('payload     is the one that was signed\n')
  if (values.keys !== undefined) refuseUntrusted(image)
  return exitCodes.fine
}

function factsOf({ manifest, signer }: ImageFile, hasKeys: boolean): [string, string | number][] {
  const { compatible, version, floor, sizeBytes, sha256 } = manifest
  const signed = hasKeys ? (signer ?? 'by none of the keys given') : 'not looked at, as no --keys were given'
  return [
    ['compatible', compatible],
    ['version', version],
    ['floor', floor ?? 'none'],
    ['size', sizeBytes],
    ['sha256', sha256],
    ['signed', signed],
  ]
}

async function unpack(argv: Words, world: World): Promise<number> {
  const { values, positionals } = parseCommand(argv, {
    keys: { type: 'string', multiple: true },
    compatible: { type: 'string' },
    floor: { type: 'string' },
    'floor-file': { type: 'string' },
  })
  requireWords(positionals, 2, 2, forms.unpack)
  const { keys, compatible, floor = '0.0.0', 'floor-file': floorFile } = values
  if (keys === undefined || compatible === undefined)
    throw new Fault('bad_usage', `expected: plantroom ${forms.unpack}`)
  if (!isImageVersion(floor))
    throw new Fault('bad_usage', `${floor} is not a version, expected three numbers such as 2.1.0`)
  const [path = '', to = ''] = positionals
  const kept = floorFile === undefined ? undefined : await readFloor(floorFile)
  const least = [floor, kept ?? floor].reduce(higher)
  const image = await readImage(path, await readPublicKeys(keys))
  refuseUntrusted(image)
  const { manifest } = image
  if (manifest.compatible !== compatible)
    throw new Fault('image_wrong_board', `the image is for ${manifest.compatible}, not for ${compatible}`)
  if (compareVersions(manifest.version, least) < 0)
    throw new Fault('image_too_old', `the image has version ${manifest.version}, older than ${least}`)
  await unpackImage(path, image, to)
  const next = [kept ?? '0.0.0', manifest.floor ?? '0.0.0'].reduce(higher)
  // Saved before the caller marks the written slot as the next to boot.
  if (floorFile !== undefined && next !== (kept ?? '0.0.0')) await replaceFile(resolve(floorFile), `${next}\n`)
  world.out(`The payload of ${compatible} ${manifest.version} is in ${to}.\n`)
  return exitCodes.fine
}

const higher = (one: string, other: string) => (compareVersions(one, other) < 0 ? other : one)

/**
 * @returns undefined if there is none yet @throws Fault `image_too_old` if it contains no version: it exists to refuse
 * old ones
 */
async function readFloor(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  const floor = text?.trim()
  if (floor !== undefined && !isImageVersion(floor))
    throw new Fault('image_too_old', `${file} holds no version, expected three numbers such as 2.1.0`)
  return floor
}

function refuseUntrusted({ signer }: ImageFile): void {
  if (signer === undefined) throw new Fault('image_untrusted', 'the image is signed by none of the keys given')
}
