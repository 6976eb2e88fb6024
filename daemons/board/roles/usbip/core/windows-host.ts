/** GET /usbip.ps1: a complete script that keeps the board's USB device attached on a Windows host, with usbip-win2. */
import { type HostScriptOptions, hostPartsName, quotePowerShell } from '../wire/host-script.ts'

/**
 * Part of the program for Windows hosts: finds, installs and calls usbip-win2.
 *
 * Its driver retries by itself for a while after a device was attached, but not after a restart; a server's list has no
 * serial numbers. @source usbip-win2 0.9.7.8, userspace/usbip; winget manifest vadimgrn.usbip-win2
 */
const WINDOWS_HOST_CLIENT = String.raw`# --- the client

$ClientName = 'vadimgrn.usbip-win2'
$ClientVersion = '0.9.7.8'
# The first version that can try just once (attach --once).
$OldestVersion = '0.9.7.7'
$ClientKey = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Uninstall\{199505b0-b93d-4521-a8c7-897818e0205a}_is1'
$ClientSums = @{
  x64 = '44451FE06F4186125C2A5ECD25B099C5560A61A60B1E56F5A0758E77A60AFA44'
  arm64 = '0FDA9D3FC19E31753F57FCF8E3401939C41E259964A960B101F848C89FC19F19'
}
# Seconds for its installer, which restarts every USB hub.
$InstallSeconds = 300

function Get-ClientPath {
  $folders = @((Join-Path $env:ProgramFiles 'USBip'))
  $known = Get-ItemProperty -LiteralPath $ClientKey -ErrorAction SilentlyContinue
  if ($known -and $known.PSObject.Properties['InstallLocation']) { $folders = @($known.InstallLocation) + $folders }
  foreach ($folder in $folders) {
    $path = Join-Path $folder 'usbip.exe'
    if (Test-Path -LiteralPath $path) { return $path }
  }
  return ''
}

function Find-Client {
  $path = Get-ClientPath
  if ($path -eq '') { throw 'the USB/IP client is not here: install first' }
  return $path
}

# True if it was missing or too old.
function Install-Client {
  $path = Get-ClientPath
  if ($path -ne '' -and (Get-Item -LiteralPath $path).VersionInfo.FileVersionRaw -ge [Version]$OldestVersion) { return $false }
  if ([Environment]::OSVersion.Version -lt [Version]'10.0.18362') { throw 'usbip-win2 needs Windows 10 1903 or later' }
  Say 'installing usbip-win2; all USB devices of this machine stop for a moment'
  if (Get-Command winget.exe -ErrorAction SilentlyContinue) {
    winget.exe install '--exact' '--id' $ClientName '--silent' '--accept-package-agreements' '--accept-source-agreements' | Out-Host
  }
  $path = Get-ClientPath
  if ($path -eq '' -or (Get-Item -LiteralPath $path).VersionInfo.FileVersionRaw -lt [Version]$OldestVersion) { Install-Downloaded }
  if ((Get-ClientPath) -eq '') { throw 'usbip-win2 could not be installed: see https://github.com/vadimgrn/usbip-win2/releases' }
  return $true
}

function Install-Downloaded {
  $kind = 'x64'
  if ($env:PROCESSOR_ARCHITECTURE -eq 'ARM64' -or $env:PROCESSOR_ARCHITEW6432 -eq 'ARM64') { $kind = 'arm64' }
  $name = 'USBip-{0}-{1}.exe' -f $ClientVersion, $kind
  $from = 'https://github.com/vadimgrn/usbip-win2/releases/download/v.{0}/{1}' -f $ClientVersion, $name
  # A folder that only administrators write to: nobody changes the file between the check and the start.
  $null = New-Item -ItemType Directory -Force -Path $Folder
  $file = Join-Path $Folder $name
  [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
  Invoke-WebRequest -UseBasicParsing -TimeoutSec $InstallSeconds -Uri $from -OutFile $file
  try {
    $sum = (Get-FileHash -LiteralPath $file -Algorithm SHA256).Hash
    if ($sum -ne $ClientSums[$kind]) { throw ('{0} has the checksum {1}: it is not what was expected' -f $from, $sum) }
    $installer = Start-Process -FilePath $file -ArgumentList '/VERYSILENT /SUPPRESSMSGBOXES /NORESTART' -PassThru
    # Some versions do not exit when they are done.
    if (-not $installer.WaitForExit($InstallSeconds * 1000)) { $installer.Kill() }
  } finally {
    Remove-Item -LiteralPath $file -Force -ErrorAction SilentlyContinue
  }
}

# Its exit code and all its output. The words are ours, or were checked: they need no quotes.
function Invoke-Client([string[]]$Words) {
  $start = New-Object System.Diagnostics.ProcessStartInfo
  $start.FileName = Find-Client
  $start.Arguments = $Words -join ' '
  $start.UseShellExecute = $false
  $start.CreateNoWindow = $true
  $start.RedirectStandardOutput = $true
  $start.RedirectStandardError = $true
  $client = [System.Diagnostics.Process]::Start($start)
  $said = $client.StandardOutput.ReadToEndAsync()
  $complained = $client.StandardError.ReadToEndAsync()
  if (-not $client.WaitForExit($AnswerSeconds * 1000)) {
    $client.Kill()
    return @{ Code = -1; Text = 'no answer within {0} s' -f $AnswerSeconds }
  }
  return @{ Code = $client.ExitCode; Text = $said.Result + $complained.Result }
}

function Invoke-ClientAtBoard([string[]]$Words) {
  if ([int]$BoardPort -lt 1024) { throw 'usbip-win2 asks at no port below 1024: give the board another one (usbip.port)' }
  return Invoke-Client (@('--tcp-port', $BoardPort) + $Words)
}

# --- what is available

# What the board offers: Place and Id of each. Nothing, and a message, if it does not answer.
function Get-Offers {
  $answer = Invoke-ClientAtBoard @('list', '--remote', $BoardHost)
  if ($answer.Code -ne 0) {
    throw ('the board does not answer at {0}, port {1}, or does not let this machine in' -f $BoardHost, $BoardPort)
  }
  foreach ($line in $answer.Text -split '\r?\n') {
    if ($line -match '^\s*([0-9]+-[0-9.]+)\s*: .*\(([0-9a-f]{4}:[0-9a-f]{4})\)\s*$') {
      @{ Place = $Matches[1]; Id = $Matches[2] }
    }
  }
}

# What is attached from this board: Port and Place of each.
function Get-Attached {
  $number = ''
  foreach ($line in (Invoke-Client @('port')).Text -split '\r?\n') {
    if ($line -match '^Port ([0-9]+):') { $number = [string][int]$Matches[1] }
    if ($line -match '^\s*-> usbip://(.+):([0-9]+)/([0-9]+-[0-9.]+)\s*$') {
      if ($Matches[1] -eq $BoardHost -and $Matches[2] -eq $BoardPort) { @{ Port = $number; Place = $Matches[3] } }
    }
  }
}

function Get-AttachedText {
  return (@(Get-Attached) | ForEach-Object { $_.Port + ' ' + $_.Place }) -join ', '
}

# Whether a device with the wanted serial number has come up. Windows itself leaves some serial numbers out: those that
# it cannot have in a name are not compared.
function Test-Serial {
  if ($Wanted.Serial -eq '' -or $Wanted.Serial -notmatch '^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$') { return $true }
  $name = 'USB\VID_{0}&PID_{1}\{2}' -f $Wanted.Id.Substring(0, 4), $Wanted.Id.Substring(5, 4), $Wanted.Serial
  $end = (Get-Date).AddSeconds($ComeUpSeconds)
  while ((Get-Date) -lt $end) {
    $found = Get-PnpDevice -PresentOnly -ErrorAction SilentlyContinue | Where-Object { $_.InstanceId -eq $name }
    if ($found) { return $true }
    Start-Sleep -Seconds 1
  }
  return $false
}

# Whether it is attached now; if not, the log says why.
function Add-One($Offer) {
  $answer = Invoke-ClientAtBoard @('attach', '--remote', $BoardHost, '--bus-id', $Offer.Place, '--once')
  if ($answer.Code -ne 0) {
    Say-Once ('the board did not give {0}: {1}' -f $Offer.Place, $answer.Text.Trim())
    return $false
  }
  # The list of a board has no serial numbers: the number is only known once the device is attached.
  if (-not (Test-Serial)) {
    foreach ($one in @(Get-Attached)) {
      if ($one.Place -eq $Offer.Place) { $null = Invoke-Client @('detach', '--port', $one.Port) }
    }
    Say-Once ('{0} has another serial number than the device that is wanted: let go of it' -f $Offer.Place)
    return $false
  }
  Say-Once ('attached {0} of {1}' -f $Offer.Place, $BoardHost)
  return $true
}

# Attaches each wanted device that is not attached yet. True if at least one is attached afterwards.
function Add-Wanted {
  $before = @(Get-Attached)
  $offers = @(Get-Offers | Where-Object { Test-Wanted $_ })
  foreach ($offer in $offers) {
    # Attached here but free at the board: a dead connection, because power or cable was cut.
    foreach ($dead in @($before | Where-Object { $_.Place -eq $offer.Place })) {
      $null = Invoke-Client @('detach', '--port', $dead.Port)
      Say-Once ('the connection of {0} was dead' -f $offer.Place)
    }
    if ((Add-One $offer) -and $Wanted.Id -ne '') { return $true }
  }
  if (@(Get-Attached).Count -gt 0) { return $true }
  if ($offers.Count -eq 0) { Say-Once 'the board offers nothing that is wanted now: it is in use, or not plugged in' }
  return $false
}
`

// The program that keeps a board's USB device attached on a Windows host, by usbip-win2.

const BEGINNING = `Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

# Seconds: for one answer of the board, between two checks, between two lists of devices, first and longest pause
# between attempts, for a device to come up, for the first attachment after an installation.
$AnswerSeconds = 20
$LookSeconds = 5
$ListSeconds = 15
$FirstPauseSeconds = 2
$LongestPauseSeconds = 60
$ComeUpSeconds = 15
$SettleSeconds = 45
# Bytes of the log before a new one is started.
$MostLogBytes = 1048576

# In the programs folder, because only administrators may write there: the system runs what it holds.
$Folder = Join-Path $env:ProgramFiles (Join-Path 'Plantroom' $PartsName)
$Installed = Join-Path $Folder 'usbip.ps1'
$ChosenFile = Join-Path $Folder 'device.txt'
$LogFile = Join-Path $Folder 'usbip.log'

function Show-Usage {
  @'
Uses the USB device of a Plantroom board on this machine.

  usbip.ps1 [install]    installs the USB/IP client (usbip-win2), attaches the device, and keeps it attached: after a
                         drop, after a restart of the board, after a restart of this machine
  usbip.ps1 attach       attaches it again after a detach
  usbip.ps1 detach       lets go of it until attach, or until this machine is restarted
  usbip.ps1 status       says whether it is attached; ends with 0 if so, else with 1
  usbip.ps1 remove       lets go of it and removes what install has set up; the client stays installed

  -Device WHICH   one device of those that the board shares: vid:pid, vid:pid:serial, or its place there (1-1.4)
  -Help           this text
'@ | Out-Host
  Say ('The board: {0}, USB/IP port {1}. Device: {2}.' -f $BoardHost, $BoardPort, $Wanted.Text)
}

function Say([string]$Text) {
  Out-Host -InputObject $Text
}

# One log line for each change, however many attempts there are.
$Last = @{ Said = '' }
function Say-Once([string]$Text) {
  if ($Last.Said -eq $Text) { return }
  $Last.Said = $Text
  Say $Text
  if ($Verb -ne 'keep') { return }
  $log = Get-Item -LiteralPath $LogFile -ErrorAction SilentlyContinue
  if ($log -and $log.Length -gt $MostLogBytes) { Remove-Item -LiteralPath $LogFile }
  Add-Content -LiteralPath $LogFile -Encoding UTF8 -Value ('{0:yyyy-MM-dd HH:mm:ss} {1}' -f (Get-Date), $Text)
}

function Assert-Administrator {
  $me = New-Object Security.Principal.WindowsPrincipal ([Security.Principal.WindowsIdentity]::GetCurrent())
  if (-not $me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    throw 'this is for an administrator: open PowerShell by "Run as administrator"'
  }
}

# What the words for a device mean: Id and Serial, or Place, or none of these for every device.
function Read-Wanted([string]$Text) {
  $wanted = @{ Text = $Text; Id = ''; Serial = ''; Place = '' }
  if ($Text -eq '') {
    $wanted.Text = 'every one that the board shares'
  } elseif ($Text -match '(?s)^([0-9a-fA-F]{4}:[0-9a-fA-F]{4})(?::(.+))?$') {
    $wanted.Id = $Matches[1].ToLowerInvariant()
    if ($Matches.ContainsKey(2)) { $wanted.Serial = $Matches[2] }
  } elseif ($Text -match '^[0-9]+-[0-9.]+$') {
    $wanted.Place = $Text
    $wanted.Text = 'the one at ' + $Text
  } else {
    throw ('there is no device "{0}": expected vid:pid, vid:pid:serial or a place (1-1.4)' -f $Text)
  }
  return $wanted
}

function Test-Wanted($Offer) {
  if ($Wanted.Id -ne '' -and $Wanted.Id -ne $Offer.Id) { return $false }
  if ($Wanted.Place -eq '') { return $true }
  return $Offer.Place -eq $Wanted.Place -or $Offer.Place.StartsWith($Wanted.Place + '.')
}
`

const WORDS = String.raw`# --- words

# Runs until its task is stopped.
function Invoke-Keep {
  Assert-Administrator
  $pause = $FirstPauseSeconds
  $sinceList = $ListSeconds
  $before = ''
  while ($true) {
    $wait = $LookSeconds
    try {
      $now = Get-AttachedText
      if ($now -ne $before) {
        if ($now -eq '') { Say-Once 'the device was dropped' }
        $sinceList = $ListSeconds
        $pause = $FirstPauseSeconds
      }
      # Asked while the device is attached too: more may have come, and only the board sees a dead connection.
      if ($now -eq '' -or $sinceList -ge $ListSeconds) {
        $sinceList = 0
        if (Add-Wanted) {
          $now = Get-AttachedText
        } else {
          $wait = $pause
          $pause = [Math]::Min($pause * 2, $LongestPauseSeconds)
        }
      }
      $before = $now
    } catch {
      Say-Once $_.Exception.Message
      $wait = $pause
      $pause = [Math]::Min($pause * 2, $LongestPauseSeconds)
    }
    $sinceList += $wait
    Start-Sleep -Seconds $wait
  }
}

function Invoke-Status {
  Say ('board: {0}, USB/IP port {1}; device: {2}' -f $BoardHost, $BoardPort, $Wanted.Text)
  $task = Get-ScheduledTask -TaskName $PartsName -ErrorAction SilentlyContinue
  if ($task) { Say ('kept attached: {0}' -f $task.State) } else { Say 'kept attached: no, install has not been run' }
  $now = @(Get-Attached)
  foreach ($one in $now) { Say ('attached: {0} of the board is at port {1} here' -f $one.Place, $one.Port) }
  if ($now.Count -eq 0) {
    Say 'attached: nothing'
    return 1
  }
  return 0
}

function Wait-Attached {
  $end = (Get-Date).AddSeconds($SettleSeconds)
  while (@(Get-Attached).Count -eq 0) {
    if ((Get-Date) -gt $end) {
      Say ('nothing is attached yet; it will be as soon as the board gives it. See: {0}' -f $LogFile)
      return 0
    }
    Start-Sleep -Seconds 1
  }
  return Invoke-Status
}

function Register-Keeper {
  $words = '-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "{0}" keep' -f $Installed
  $shell = Join-Path $env:SystemRoot 'System32\WindowsPowerShell\v1.0\powershell.exe'
  $action = New-ScheduledTaskAction -Execute $shell -Argument $words
  $trigger = New-ScheduledTaskTrigger -AtStartup
  $principal = New-ScheduledTaskPrincipal -UserId 'S-1-5-18' -LogonType ServiceAccount -RunLevel Highest
  # Without a limit of time, also on batteries, and started again after a fault.
  $settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -MultipleInstances IgnoreNew -RestartCount 999 -RestartInterval ([TimeSpan]::FromMinutes(1))
  $null = Register-ScheduledTask -TaskName $PartsName -Action $action -Trigger $trigger -Principal $principal -Settings $settings -Description 'Keeps the USB device of a Plantroom board attached.' -Force
}

function Invoke-Install {
  Assert-Administrator
  $isFresh = Install-Client
  $null = New-Item -ItemType Directory -Force -Path $Folder
  Set-Content -LiteralPath $ChosenFile -Encoding UTF8 -Value $Chosen
  # The block that this is part of, as it stands: its values are in it, quoted as they were.
  $text = $PlantroomWords, ('$Plantroom = {' + $Plantroom.ToString() + '}'), $PlantroomStart -join [Environment]::NewLine
  Set-Content -LiteralPath $Installed -Encoding ASCII -Value $text
  Stop-ScheduledTask -TaskName $PartsName -ErrorAction SilentlyContinue
  Register-Keeper
  Start-ScheduledTask -TaskName $PartsName
  if ($isFresh) { Say 'the client was installed: where nothing is attached after a minute, restart Windows once' }
  return Wait-Attached
}

function Invoke-Attach {
  Assert-Administrator
  $null = Find-Client
  if (Get-ScheduledTask -TaskName $PartsName -ErrorAction SilentlyContinue) {
    Start-ScheduledTask -TaskName $PartsName
    return Wait-Attached
  }
  if (-not (Add-Wanted)) { return 1 }
  Say 'attached until it is dropped: install keeps it attached'
  return 0
}

function Invoke-Detach {
  Assert-Administrator
  Stop-ScheduledTask -TaskName $PartsName -ErrorAction SilentlyContinue
  # The driver retries on its own after a drop: that is stopped too.
  $null = Invoke-Client @('attach', '--stop-all')
  foreach ($one in @(Get-Attached)) { $null = Invoke-Client @('detach', '--port', $one.Port) }
  Say 'nothing of this board is attached'
  return 0
}

function Invoke-Remove {
  $null = Invoke-Detach
  Unregister-ScheduledTask -TaskName $PartsName -Confirm:$false -ErrorAction SilentlyContinue
  if (Test-Path -LiteralPath $Folder) { Remove-Item -LiteralPath $Folder -Recurse -Force }
  Say 'removed; the client stays installed: Settings, Apps, USBip'
  return 0
}

try {
  # -Device counts, then what install was told, then what the board has said.
  $Chosen = $BoardDevice
  if ($Device -ne '') {
    $Chosen = $Device
  } elseif ($Verb -ne 'install' -and (Test-Path -LiteralPath $ChosenFile)) {
    $Chosen = ([string](Get-Content -LiteralPath $ChosenFile -Raw -Encoding UTF8)).TrimEnd()
  }
  $Wanted = Read-Wanted $Chosen
  # Both become words of a command line: nothing in them may mean anything there.
  if ($BoardHost -notmatch '^[A-Za-z0-9][A-Za-z0-9.:%_-]*$') { throw 'the name of the board is not a valid host name' }
  if ($Help -or @('help', '--help', '-h', '/?') -contains $Verb) {
    Show-Usage
    return 0
  }
  switch ($Verb) {
    'install' { return Invoke-Install }
    'attach' { return Invoke-Attach }
    'detach' { return Invoke-Detach }
    'status' { return Invoke-Status }
    'remove' { return Invoke-Remove }
    'keep' { return Invoke-Keep }
    default { throw ('"{0}" is not understood; see -Help' -f $Verb) }
  }
} catch {
  [Console]::Error.WriteLine('usbip.ps1: ' + $_.Exception.Message)
  return 1
}`

/**
 * A PowerShell program without values; they are put in front of it: BoardHost, BoardPort, BoardDevice, PartsName. No
 * backtick and no braces around names, since it stands in templates.
 */
const WINDOWS_HOST_TOOL = [BEGINNING, WINDOWS_HOST_CLIENT, WORDS].join('\n')

/** The parameters; the script passes them on to its block. */
const PARAMETERS = "param([Parameter(Position = 0)][string]$Verb = 'install', [string]$Device = '', [switch]$Help)"

/** A piped script has no path: `exit` would close the window it is pasted into. */
const START = '$PlantroomEnd = & $Plantroom @PSBoundParameters; if ($PSCommandPath) { exit $PlantroomEnd }'

/**
 * A script for Windows PowerShell 5.1 and later, in ASCII: install (the default), attach, detach, status, remove,
 * -Help. All of it is one block whose text `install` writes to a file: a piped script has no file to copy.
 */
export function windowsHostScript(options: HostScriptOptions): string {
  return `# Uses the USB device of a Plantroom board on this machine. In a PowerShell of an administrator:
#
#     powershell -ExecutionPolicy Bypass -File usbip.ps1          installs what it needs, attaches the device, keeps it
#     powershell -ExecutionPolicy Bypass -File usbip.ps1 -Help    what else it can
${PARAMETERS}
$Plantroom = {
${PARAMETERS}
$PlantroomWords = ${quotePowerShell(PARAMETERS)}
$PlantroomStart = ${quotePowerShell(START)}

$BoardHost = ${quotePowerShell(options.host)}
$BoardPort = ${quotePowerShell(String(options.port))}
$BoardDevice = ${quotePowerShell(options.key ?? '')}
$PartsName = ${quotePowerShell(hostPartsName(options))}
${WINDOWS_HOST_TOOL}
}
${START}
`.replaceAll('\n', '\r\n')
}
