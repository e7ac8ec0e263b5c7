# SPDX-License-Identifier: MIT OR Apache-2.0
{
  description = "Windows NT kernel synchronization in user space: /dev/ntsync without the driver, and a C library";

  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";

  # From a clone: nix build '.?dir=packaging/nix'
  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      forEach = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = forEach (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "ntux";
            version = "0.1.0";
            src = ../..;
            cargoLock.lockFile = ../../Cargo.lock;

            # The Makefile knows which crates, and how their libraries are linked.
            postPatch = "patchShebangs .ci packaging crates";
            buildPhase = ''
              runHook preBuild
              make build PREFIX=$out LIBDIR=$out/lib
              runHook postBuild
            '';
            checkPhase = "out/bin/ntux doctor || true"; # a sandbox need not be able to serve
            installPhase = ''
              runHook preInstall
              make install PREFIX=$out LIBDIR=$out/lib
              runHook postInstall
            '';

            meta = {
              description = "Windows NT kernel synchronization in user space";
              homepage = "";
              license = with pkgs.lib.licenses; [
                mit
                asl20
              ];
              mainProgram = "ntux";
              platforms = systems;
            };
          };
        }
      );

      # For `nix develop`: what make build needs, and the compilers that the tests ask for.
      devShells = forEach (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.mkShell {
            packages = with pkgs; [
              cargo
              clippy
              rustc
              rustfmt
              gcc
              bubblewrap
              pkg-config
            ];
          };
        }
      );
    };
}
