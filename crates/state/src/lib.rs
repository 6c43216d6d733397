//! Derives `phelsuma_nand::state::Preserve` and `Load`: every field is saved, in order, and taken back.
//!
//! So a field that is added to a type is saved as well, or the type does not compile. A field with `#[preserve(fixed)]`
//! follows from the configuration: it is not saved, and stays as it was made. A type with such a field, or with
//! `#[preserve(in_place)]`, cannot be made from a saved state alone: it is taken back into one made before.
//! So are the elements of a field with `#[preserve(each)]`, a vector whose length follows from the configuration.

use proc_macro::TokenStream;
use proc_macro2::{Ident, Literal, TokenStream as Tokens};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Fields, parse_macro_input};

/// Whether an attribute says `word`.
fn says(attributes: &[syn::Attribute], word: &str) -> bool {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("preserve"))
        .any(|attribute| attribute.parse_args::<Ident>().is_ok_and(|ident| ident == word))
}

/// See the crate's documentation.
#[proc_macro_derive(Preserve, attributes(preserve))]
pub fn derive_preserve(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let parameters: Vec<&Ident> = input.generics.type_params().map(|parameter| &parameter.ident).collect();
    let given = where_clause.map(|clause| {
        let predicates = clause.predicates.iter();
        quote!(#(#predicates,)*)
    });
    let state = quote!(::phelsuma_nand::state);
    let mut in_place = says(&input.attrs, "in_place");
    let (save, restore, load) = match &input.data {
        Data::Struct(data) => {
            in_place |= data.fields.iter().any(|field| says(&field.attrs, "fixed") || says(&field.attrs, "each"));
            of_struct(&data.fields, &state)
        }
        Data::Enum(data) => of_enum(data, &state, in_place),
        Data::Union(_) => {
            return syn::Error::new_spanned(name, "a union has no state that could be saved").to_compile_error().into();
        }
    };
    let load = (!in_place).then(|| {
        quote! {
            impl #impl_generics #state::Load for #name #type_generics
            where #given #(#parameters: #state::Load),*
            {
                fn load(from: &mut dyn #state::StateIn) -> #state::Result<Self> {
                    #load
                }
            }
        }
    });
    quote! {
        impl #impl_generics #state::Preserve for #name #type_generics
        where #given #(#parameters: #state::Preserve),*
        {
            fn put_state(&self, to: &mut dyn #state::StateOut) -> #state::Result<()> {
                #save
                Ok(())
            }

            fn take_state(&mut self, from: &mut dyn #state::StateIn) -> #state::Result<()> {
                #restore
                Ok(())
            }
        }
        #load
    }
    .into()
}

fn of_struct(fields: &Fields, state: &Tokens) -> (Tokens, Tokens, Tokens) {
    let members = || fields.members().zip(fields).filter(|(_, field)| !says(&field.attrs, "fixed"));
    let all = |field| if says(field, "each") { quote!([..]) } else { Tokens::new() };
    let save = members().map(|(member, field)| {
        let all = all(&field.attrs);
        quote!(#state::Preserve::put_state(&self.#member #all, to)?;)
    });
    let restore = members().map(|(member, field)| {
        let all = all(&field.attrs);
        quote!(#state::Preserve::take_state(&mut self.#member #all, from)?;)
    });
    let load = members().map(|(member, _)| quote!(#member: #state::Load::load(from)?,));
    (quote!(#(#save)*), quote!(#(#restore)*), quote!(Ok(Self { #(#load)* })))
}

fn of_enum(data: &syn::DataEnum, state: &Tokens, in_place: bool) -> (Tokens, Tokens, Tokens) {
    let mut saves = Vec::new();
    let mut restores = Vec::new();
    let mut loads = Vec::new();
    for (number, variant) in (0u8..).zip(&data.variants) {
        let number = Literal::u8_suffixed(number);
        let name = &variant.ident;
        let members: Vec<syn::Member> = variant.fields.members().collect();
        let bound: Vec<Ident> = (0..members.len()).map(|n| format_ident!("field_{n}")).collect();
        saves.push(quote! {
            Self::#name { #(#members: #bound),* } => {
                #state::Preserve::put_state(&#number, to)?;
                #(#state::Preserve::put_state(#bound, to)?;)*
            }
        });
        restores.push(quote! {
            (Self::#name { #(#members: #bound),* }, #number) => {
                #(#state::Preserve::take_state(#bound, from)?;)*
            }
        });
        loads.push(quote! {
            #number => Ok(Self::#name { #(#members: #state::Load::load(from)?),* }),
        });
    }
    let save = quote!(match self { #(#saves)* });
    // Which form it has follows from the configuration.
    let in_its_place = quote! {
        let number: u8 = #state::Load::load(from)?;
        match (self, number) {
            #(#restores)*
            _ => return Err(#state::StateError::NotAState),
        }
    };
    let restore = if in_place { in_its_place } else { quote!(*self = #state::Load::load(from)?;) };
    let load = quote! {
        let number: u8 = #state::Load::load(from)?;
        match number {
            #(#loads)*
            _ => Err(#state::StateError::NotAState),
        }
    };
    (save, restore, load)
}
