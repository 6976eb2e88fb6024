/** `plantroom check-config`: whether a daemon would start with these settings. */
import { loadConfig } from '#kit/config/load.ts'
import { givenSettings, type MemorySum, sumOfMemory } from '#kit/config/memory.ts'
import { Fault } from '#kit/pure/fault.ts'
import { configFileOf, exitCodes } from '#kit/run/arguments.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { daemonNames, loadDaemon } from './daemons.ts'

const form = 'check-config [DAEMON] [--config FILE] [--set key=VALUE]...'

/** Checks the settings of one daemon, or of all with their default files. */
export const checkConfig: Command = {
  name: 'check-config',
  summary: 'check settings without starting anything',
  help: `plantroom ${form}

Checks the settings of DAEMON, or those of every daemon here, and prints every fault, one a line. Where there is none it says
how much memory they allow the daemon, and what its unit has to allow therefore.
  --config FILE      default /etc/plantroom/<daemon>.toml, which may be missing; needs DAEMON
  --set key=VALUE    as given to the daemon, may repeat; needs DAEMON
Exit codes: 0 fine, 2 refused.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const options = { config: { type: 'string' }, set: { type: 'string', multiple: true } } as const
    const { values, positionals } = parseCommand(argv, options)
    requireWords(positionals, 0, 1, form)
    const [only] = positionals
    if (only === undefined && (values.config ?? values.set) !== undefined)
      throw new Fault('bad_usage', '--config and --set need the daemon they are for')
    let isFine = true
    for (const name of only === undefined ? daemonNames(world.daemonsFolder) : [only]) {
      const file = { path: values.config ?? configFileOf(name, world.env), isNamed: values.config !== undefined }
      if (!(await checkOne(world, name, file, values.set ?? []))) isFine = false
    }
    return isFine ? exitCodes.fine : exitCodes.refused
  },
}

interface ConfigFile {
  path: string
  isNamed: boolean
}

async function checkOne(world: World, name: string, file: ConfigFile, sets: readonly string[]): Promise<boolean> {
  const { config: schema, memory } = await loadDaemon(world.daemonsFolder, name)
  try {
    const { isFileRead, value } = await loadConfig({ schema, file: file.path, mustExist: file.isNamed, sets })
    world.out(`${name}: fine (${isFileRead ? file.path : `no ${file.path}, defaults`})\n`)
    if (memory) world.out(`${name}: ${unitOf(sumOfMemory(memory(), givenSettings(value)))}\n`)
    return true
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'config_refused')) throw error
    for (const line of error.message.split('\n')) world.err(`${name}: ${line}\n`)
    return false
  }
}

/** The lines for the unit, or for a drop-in if settings were raised. */
function unitOf({ allBytes, memoryMaxMib, tasksMax }: MemorySum): string {
  const heldMib = Math.ceil(allBytes / 1_048_576)
  return `holds ${heldMib} MiB at most by these settings, so that its unit needs MemoryMax=${memoryMaxMib}M and TasksMax=${tasksMax}`
}
