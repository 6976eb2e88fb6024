/** The form of the settings, for the page that draws it. */
import type { RoleName } from '../wire/role-name.ts'
import { type BoardSettings, boardSettings, type SettingName } from './board-settings.ts'
import type { Setting, SettingValue } from './setting.ts'

/** One field of the form. */
export interface FormField {
  name: string
  kind: Setting['kind']
  default: SettingValue
  /** What it is now. */
  value: SettingValue
  min?: number
  max?: number
  /** Digits behind the point at most. */
  decimals?: number
  max_length?: number
  unit?: string
  choices?: readonly string[]
  meaning: string
  /** Roles in which it does something; absent: all. */
  roles?: readonly RoleName[]
}

/** The form: groups in order, fields in order within each. */
export interface SettingsForm {
  groups: { title: string; fields: FormField[] }[]
}

/** @param first what each setting was before anybody set it */
export function settingsForm(current: BoardSettings, first: BoardSettings): SettingsForm {
  const fields = Map.groupBy(boardSettings, ({ group }) => group)
  const groups = [...fields].map(([title, settings]) => ({
    title,
    fields: settings.map((setting) => fieldOf(setting, current, first)),
  }))
  return { groups }
}

function fieldOf(setting: Setting, current: BoardSettings, first: BoardSettings): FormField {
  const { kind, meaning, unit, roles } = setting
  const name = setting.name as SettingName
  return {
    name,
    kind,
    default: first[name],
    value: current[name],
    ...boundsOf(setting),
    ...(unit === undefined ? {} : { unit }),
    meaning,
    ...(roles === undefined ? {} : { roles }),
  }
}

function boundsOf(setting: Setting): Partial<FormField> {
  if (setting.kind === 'number') return { min: setting.min, max: setting.max, decimals: setting.decimals }
  if (setting.kind === 'choice') return { choices: setting.choices }
  return setting.kind === 'switch' ? {} : { max_length: setting.maxLength }
}
