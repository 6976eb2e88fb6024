/**
 * Of the program for Windows hosts: usbip-win2, found, installed and asked.
 *
 * Its driver tries again by itself once a device was attached, for a while, and not after a restart; the list of a
 * server has no serial numbers. @source usbip-win2 0.9.7.8, userspace/usbip; winget manifest vadimgrn.usbip-win2
 */
export const WINDOWS_HOST_CLIENT = String.raw`# --- the client

$ClientName = 'vadimgrn.usbip-win2'
$ClientVersion = '0.9.7.8'
# The first one that can be told to try once (attach --once).
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

# True when it was not there before, or too old.
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
    # Some versions do not end after their work is done.
    if (-not $installer.WaitForExit($InstallSeconds * 1000)) { $installer.Kill() }
  } finally {
    Remove-Item -LiteralPath $file -Force -ErrorAction SilentlyContinue
  }
}

# What it ended with and all it said. The words are ours, or were checked: they need no quotes.
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

# --- what there is

# What the board offers: Place and Id of each. Nothing, and a sentence, when it does not answer.
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

# What of this board is attached: Port and Place of each.
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

# Whether it is attached now; else the log says why.
function Add-One($Offer) {
  $answer = Invoke-ClientAtBoard @('attach', '--remote', $BoardHost, '--bus-id', $Offer.Place, '--once')
  if ($answer.Code -ne 0) {
    Say-Once ('the board did not give {0}: {1}' -f $Offer.Place, $answer.Text.Trim())
    return $false
  }
  # The list of a board has no serial numbers: it is known when the device is here.
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

# Attaches what is wanted and not attached. True when something of it is attached afterwards.
function Add-Wanted {
  $before = @(Get-Attached)
  $offers = @(Get-Offers | Where-Object { Test-Wanted $_ })
  foreach ($offer in $offers) {
    # Attached here and free at the board: the board knows nothing of this connection, since its power or the cable was
    # gone.
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
